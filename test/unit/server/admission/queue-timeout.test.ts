import { afterEach, expect, test, vi } from "vitest";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
afterEach(() => {
  vi.useRealTimers();
  return server.close();
});

test.each(["default", "priority"])(
  "a %s request not started within --queue-timeout-ms is a 503 and is cancelled",
  async (tier) => {
    server = await startTestServer({ queueTimeoutMs: 20 });
    const response = await server.post("/v1/chat/completions", { ...CHAT, service_tier: tier });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).not.toBeNull();
    expect(await response.json()).toMatchObject({
      error: { code: "server_is_overloaded", message: expect.stringContaining("had no room for the request") },
    });
    expect(server.engine.requests[0]!.cancelled).toBe(true);
  },
);

test("embeddings not started within --queue-timeout-ms are a 503", async () => {
  server = await startTestServer({ queueTimeoutMs: 20 });
  const response = await server.post("/v1/embeddings", { model: "demo", input: "hi" });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  expect(server.engine.readings[0]!.cancelled).toBe(true);
});

test("a request that was preempted and has not started again in time is refused", async () => {
  server = await startTestServer({ flexWaitMs: 20_000 });
  await fetch(`${server.url}/health`);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const submitted = server.engine.next();
  const answer = server.post("/v1/chat/completions", { ...CHAT, service_tier: "flex" });
  const request = await submitted;
  request.begin();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(request.listener.mayRestart("preempted")).toBe(true);
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await answer).status).toBe(429);
  expect(request.cancelled).toBe(true);
});

test("a request that has started continues after --queue-timeout-ms", async () => {
  server = await startTestServer({ queueTimeoutMs: 20_000 });
  // fetch() keeps a timer of its own from its first use on, which has to be a real one.
  await fetch(`${server.url}/health`);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const submitted = server.engine.next();
  server.engine.script = (request) => request.begin();
  const started = server.post("/v1/chat/completions", CHAT);
  const request = await submitted;
  await vi.advanceTimersByTimeAsync(20_000);
  request.say("a").finish();
  expect((await started).status).toBe(200);
});
