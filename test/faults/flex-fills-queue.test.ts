import { expect, test } from "vitest";
import { CHAT } from "../unit/server/test-server.ts";
import { startKeyedServer } from "./keys-rig.ts";

const PATH = "/v1/chat/completions";
const FLEX = { ...CHAT, service_tier: "flex" };

/** A server whose requests wait for ever, with this many of flex. */
async function flooded(requests: number) {
  const server = await startKeyedServer({ queueLimit: 4 });
  const { key } = await server.key({ owner: "one" });
  /** Resolves as soon as the engine has the request. */
  const waits = (body: object) => {
    const answer = server.call(key, "POST", PATH, body);
    // The server ends before requests that wait to the end are answered.
    answer.catch(() => {});
    return new Promise<{ answer: typeof answer }>((resolve) => {
      server.engine.script = () => resolve({ answer });
    });
  };
  const waiting = [];
  for (let i = 0; i < requests; i++) waiting.push((await waits(FLEX)).answer);
  return { waits, waiting, ask: (body: object) => server.call(key, "POST", PATH, body) };
}

test("a better tier displaces the last flex request of a full queue, with 429", async () => {
  const { waits, waiting, ask } = await flooded(4);
  expect((await ask(FLEX)).status).toBe(429);
  await waits(CHAT);
  const displaced = await waiting[3]!;
  expect(displaced.status).toBe(429);
  expect(await displaced.json()).toMatchObject({
    error: { code: "resource_unavailable", message: expect.stringContaining("of a better tier took this one's place") },
  });
  for (let i = 0; i < 3; i++) await waits(CHAT);
  expect((await Promise.all(waiting)).map((answer) => answer.status)).toEqual([429, 429, 429, 429]);
  // Now the queue is full of online requests.
  expect((await ask(CHAT)).status).toBe(503);
});

test("no request is displaced while the queue has room", async () => {
  const { waits, waiting } = await flooded(3);
  await waits(CHAT);
  const first = await Promise.race([...waiting, Promise.resolve("none")]);
  expect(first).toBe("none");
});
