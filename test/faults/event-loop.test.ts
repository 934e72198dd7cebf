import { afterAll, beforeAll, expect, test } from "vitest";
import { user } from "../api/ask.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { chatLine, jsonl, reaches, submit } from "../batch/batch-rig.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1", "--shift", "off");
});
afterAll(() => server.stop());

/**
 * A bound of the longest standstill of the server's event loop while the work ran, in seconds. A busy machine stalls a process now and then, and work that blocks does it each time: the best of three counts.
 */
async function standstill(work: () => Promise<unknown>): Promise<number> {
  const lags: number[] = [];
  for (let i = 0; i < 3 && (lags.length === 0 || Math.min(...lags) > 0.05); i++) {
    const before = await server.metrics();
    await work();
    lags.push((await server.metrics()).longestDelaySince(before));
  }
  return Math.min(...lags);
}

test("uploading and checking a large file does not hold up the event loop", async () => {
  const text = jsonl(Array.from({ length: 12_000 }, (_, i) => chatLine(`l${i}`, `Count from ${i} to 90. `.repeat(40))));
  expect(text.length).toBeGreaterThan(10_000_000);
  const lag = await standstill(async () => {
    const { id } = await submit(server.client, text);
    await reaches(server.client, id, "in_progress");
    await server.client.batches.cancel(id);
  });
  // On a busy machine a turn is 150 ms late by itself; the lines checked in one go take seconds.
  expect(lag).toBeLessThanOrEqual(0.25);
});

test("a body at its limit is parsed and checked in a bounded time, whatever it is made of", async () => {
  const lags: number[] = [];
  for (const body of [
    { messages: [user("word ".repeat(1_900_000))] },
    { messages: Array.from({ length: 70_000 }, () => user("x".repeat(100))) },
    { messages: [user("x")], metadata: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, "v"])) },
  ]) {
    const text = JSON.stringify({ model: "demo", ...body });
    lags.push(
      await standstill(async () => {
        expect((await server.post("/v1/chat/completions", text)).status).toBe(400);
      }),
    );
  }
  // It is parsed in one go: --max-body is what bounds it. 40 to 120 ms on one slow core.
  expect(Math.max(...lags)).toBeLessThanOrEqual(0.25);
});
