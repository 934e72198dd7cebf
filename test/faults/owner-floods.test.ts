import { expect, test } from "vitest";
import type { Backlog, TierBacklog } from "../../engine/protocol/step.ts";
import type { Options } from "../../server/options/table.ts";
import { CHAT } from "../unit/server/test-server.ts";
import { startKeyedServer } from "./keys-rig.ts";

const PATH = "/v1/chat/completions";
const LARGE = { ...CHAT, messages: [{ role: "user", content: "x".repeat(100_000) }] };

/** A server whose requests wait for ever, with two owners: one that floods, and one without a request so far. */
async function flooded(requests: number, options: Partial<Options>) {
  const server = await startKeyedServer(options);
  const [flood, other] = [await server.key({ owner: "flood" }), await server.key({ owner: "other" })];
  /** The response's status, or 200 as soon as the engine has the request. */
  const statusOf = (secret: string, body: object = CHAT): Promise<number> =>
    new Promise((resolve, reject) => {
      server.engine.script = () => resolve(200);
      server.call(secret, "POST", PATH, body).then(({ status }) => resolve(status), reject);
    });
  for (let i = 0; i < requests; i++) expect(await statusOf(flood.key)).toBe(200);
  return { server, flood: flood.key, other: other.key, statusOf };
}

test("an owner that fills the queue leaves an equal part to another", async () => {
  const { flood, other, statusOf } = await flooded(4, { queueLimit: 4 });
  expect(await statusOf(flood)).toBe(503);
  expect(await statusOf(flood, LARGE)).toBe(503);
  expect(await statusOf(other, LARGE)).toBe(200);
  expect(await statusOf(other)).toBe(200);
  expect(await statusOf(other)).toBe(503);
  expect(await statusOf(flood)).toBe(503);
});

test("an owner's flood does not raise the predicted wait of another", async () => {
  const { server, flood, other, statusOf } = await flooded(200, { maxWaitMs: 2000 });
  const none: TierBacklog = { waiting: 0, running: 0, prefill: 0, written: 0, left: 0 };
  const backlog: Backlog = {
    tiers: {
      priority: none,
      default: { waiting: 200, running: 32, prefill: 40_000, written: 0, left: 32_000 },
      flex: none,
      batch: none,
    },
    flexPlaces: 21,
    kvPerDecode: 100,
    fit: { o: 5, p: 0.1, d: 0.5, k: 0, r: 0, m: 0 },
    objectives: { ttftMs: 500, itlMs: 50 },
    alternatingSteps: true,
  };
  server.engine.backlog = backlog;
  expect(await statusOf(flood)).toBe(503);
  expect(await statusOf(other)).toBe(200);
});
