import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, complete, endless, stream } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { readied, TestServer } from "../api/server.ts";

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  server = await readied(new TestServer(["--sequences", "16"], steps.env));
});
afterAll(() => server.stop());

async function cancelled(): Promise<number> {
  return (await server.metrics()).sum("nightshift_requests_total", { status: "cancelled" });
}

test("an aborted stream frees its sequence and counts as cancelled", async () => {
  const before = await cancelled();
  steps.allow(20);
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(4000)))[Symbol.asyncIterator]();
  for (let i = 0; i < 5; i++) await chunks.next();
  expect((await server.metrics()).sum("nightshift_requests_running")).toBe(1);
  await chunks.return?.();
  steps.release();
  await server.idle();
  expect(await cancelled()).toBe(before + 1);
});

test("the tokens of an aborted stream are counted", async () => {
  const before = (await server.metrics()).sum("nightshift_generation_tokens_total");
  steps.allow(20);
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(4000)))[Symbol.asyncIterator]();
  for (let i = 0; i < 11; i++) await chunks.next();
  await chunks.return?.();
  steps.release();
  await server.idle();
  const after = (await server.metrics()).sum("nightshift_generation_tokens_total");
  expect(after - before).toBeGreaterThanOrEqual(10);
  expect(after - before).toBeLessThan(4000);
});

test("a client that disconnects before a complete answer frees its sequence", async () => {
  const before = await cancelled();
  steps.allow(10);
  const abort = new AbortController();
  const messages = [{ role: "user" as const, content: "Count from 1 to 20." }];
  const body = { model: "demo", messages, temperature: 0, ...endless(4000), n: 3 };
  const answer = server.client.chat.completions.create(body, { signal: abort.signal });
  await server.reaches("nightshift_requests_running", 1);
  abort.abort();
  await expect(answer).rejects.toThrow("aborted");
  steps.release();
  await server.idle();
  expect(await cancelled()).toBe(before + 1);
});

test("fifty aborted streams, most of them waiting, leave no sequence or request", async () => {
  const before = await cancelled();
  steps.allow(10);
  const aborts = Array.from({ length: 50 }, () => new AbortController());
  let leave = () => {};
  const crowded = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const streams = aborts.map(async ({ signal }, i) => {
    let chunks = 0;
    const opened = await stream(server.client, `Count from ${i} to 70.`, { ...endless(4000), n: 1 + (i % 2) }, signal);
    for await (const _ of opened) {
      if (++chunks !== i % 7) continue;
      await crowded;
      break;
    }
  });
  const all = Promise.allSettled(streams);
  await server.reaches("nightshift_requests_waiting", 21);
  leave();
  for (const abort of aborts) abort.abort();
  await all;
  steps.release();
  await server.idle();
  expect(await cancelled()).toBe(before + 50);
  expect(await ask(server.client, "Capital of France?")).toBe("The capital of France is Paris.");
  // All sixteen sequences are free again.
  const { choices } = await complete(server.client, "What is 7 + 8?", { n: 16 });
  expect(choices.map(({ message }) => message.content)).toEqual(Array.from({ length: 16 }, () => "15"));
});
