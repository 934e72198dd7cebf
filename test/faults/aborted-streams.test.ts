import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, complete, user } from "../api/ask.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--sequences", "16", "--threads", "1");
});
afterAll(() => server.stop());

/** Gauges of possible leaks: descriptors of both processes, handles and timers, running and waiting requests. */
const LEFTOVERS = [
  "nightshift_process_open_fds",
  "nightshift_engine_open_fds",
  "nightshift_nodejs_active_resources",
  "nightshift_sequences",
  "nightshift_requests_running",
  "nightshift_requests_waiting",
];

async function leftovers(): Promise<number[]> {
  const metrics = await server.metrics();
  return LEFTOVERS.map((name) => metrics.sum(name));
}

/** This many concurrent streams, aborted before, at and after their first chunks. */
async function abortWave(size: number): Promise<void> {
  const streams = Array.from({ length: size }, async (_, i) => {
    const abort = new AbortController();
    const body = {
      model: "demo",
      stream: true,
      max_tokens: 500,
      ignore_eos: true,
      messages: [user(`Count from ${i}.`)],
    };
    try {
      const response = await fetch(`${server.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", connection: "close" },
        body: JSON.stringify(body),
        signal: abort.signal,
      });
      const reader = response.body!.getReader();
      for (let chunks = 0; chunks < i % 4; chunks++) await reader.read();
    } finally {
      abort.abort();
    }
  });
  await Promise.all(streams);
}

test("a thousand aborted streams leak no descriptor, handle, listener, timer or sequence", async () => {
  // The first streams open lasting resources: the engine's threads, caches, connections to the store.
  await abortWave(50);
  await server.idle();
  expect(await ask(server.client, "Capital of France?")).toBe("The capital of France is Paris.");
  await server.idle();
  const before = await leftovers();
  for (let wave = 0; wave < 20; wave++) await abortWave(50);
  // A few connections of the test's own may be open at one reading and closed at the other.
  const slack = [6, 0, 6, 0, 0, 0];
  await until("all that the streams held to be free", async () =>
    (await leftovers()).every((count, i) => count <= before[i]! + slack[i]!),
  );
  expect((await server.metrics()).sum("nightshift_requests_total", { status: "cancelled" })).toBeGreaterThan(1000);
  expect(server.output).not.toContain("MaxListenersExceededWarning");
  // All sixteen sequences are free again.
  const { choices } = await complete(server.client, "What is 7 + 8?", { n: 16 });
  expect(choices.map(({ message }) => message.content)).toEqual(Array.from({ length: 16 }, () => "15"));
});
