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
