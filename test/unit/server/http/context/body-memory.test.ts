import { type ClientRequest, request } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { BodyMemory } from "../../../../../server/http/context/body-memory.ts";
import { until } from "../../../../api/until.ts";
import { saying } from "../../fake-engine.ts";
import { startTestServer } from "../../test-server.ts";

const KiB = 1024;

it("bodies over --body-memory together are a 503 with Retry-After", async () => {
  const server = await startTestServer({ maxBody: 1024 * KiB, bodyMemory: 1024 * KiB });
  onTestFinished(() => server.close());
  /** Announces a body: `read` where the server asks for it, else its refusal. */
  const announce = (bytes: number): Promise<{ read: ClientRequest } | { status: number; retryAfter: unknown }> =>
    new Promise((resolve) => {
      const headers = { "content-type": "application/json", "content-length": bytes, expect: "100-continue" };
      const sent = request(`${server.url}/v1/chat/completions`, { method: "POST", headers });
      sent.on("error", () => {});
      sent.once("continue", () => resolve({ read: sent }));
      sent.once("response", (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode!, retryAfter: answer.headers["retry-after"] });
      });
      sent.flushHeaders();
    });
  /** Whether a body of so many bytes would be read now; it is not sent. */
  const hasRoom = async (bytes: number): Promise<boolean> => {
    const answer = await announce(bytes);
    if ("read" in answer) answer.read.destroy();
    else expect(answer).toEqual({ status: 503, retryAfter: "1" });
    return "read" in answer;
  };

  const slow = await announce(950 * KiB);
  if (!("read" in slow)) throw new Error("A body that has room was refused");
  slow.read.write(`{"x":"${"x".repeat(900 * KiB)}`);
  await until("no room for a second body", async () => !(await hasRoom(500 * KiB)));
  expect(await hasRoom(32 * KiB)).toBe(true);
  slow.read.destroy();
  await until("room for the second body", () => hasRoom(500 * KiB));
});

it("a body refused while it arrives releases exactly the bytes it held", () => {
  const memory = new BodyMemory(1024 * KiB);
  const first = memory.open("a", 0);
  first.add(1064 * KiB);
  const held = memory.held;
  const second = memory.open("a", 0);
  expect(() => second.add(128 * KiB)).toThrow("at most");
  second.end();
  expect(memory.held).toBe(held);
  first.end();
  expect(memory.held).toBe(0);
});

it("an owner with less than an equal share gets memory first", () => {
  const memory = new BodyMemory(1024 * KiB);
  const hold = (owner: string, bytes: number) => memory.open(owner, 0).add((bytes + 64) * KiB);
  hold("a", 1024);
  expect(() => hold("a", 1)).toThrow("at most");
  hold("b", 512);
  expect(() => hold("b", 1)).toThrow("at most");
  expect(memory.held).toBe(1536 * KiB);
});

it.each([
  ["/v1/chat/completions", (content: string) => ({ messages: [{ role: "user", content }] })],
  ["/v1/embeddings", (input: string) => ({ input })],
])("a body of %s counts until its request has ended: it may have to run once more", async (path, fields) => {
  const server = await startTestServer({ maxBody: 1024 * KiB, bodyMemory: 1024 * KiB });
  onTestFinished(() => server.close());
  const send = (characters: number) => server.post(path, { model: "demo", ...fields("x".repeat(characters)) });
  const first = send(900 * KiB);
  await until(
    "the request is submitted",
    async () => server.engine.requests.length + server.engine.readings.length > 0,
  );
  const refused = await send(500 * KiB);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  server.engine.script = saying("ok");
  server.engine.embeds = ({ listener }) => {
    listener.accepted(1, null);
    listener.started();
    listener.vector(0, Float32Array.of(1, 0, 0, 0));
  };
  for (const request of server.engine.requests) saying("ok")(request);
  for (const reading of server.engine.readings) server.engine.embeds(reading);
  expect((await first).status).toBe(200);
  await until("room for another", async () => (await send(500 * KiB)).status === 200);
});
