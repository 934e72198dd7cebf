import { afterEach, expect, test } from "vitest";
import { CHAT, startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
afterEach(() => server.close());

test.each(["default", "priority"])(
  "a request of tier %s that has not started within --queue-timeout-ms is 503, and leaves the engine",
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

test("embeddings that have not started within it are 503 too", async () => {
  server = await startTestServer({ queueTimeoutMs: 20 });
  const response = await server.post("/v1/embeddings", { model: "demo", input: "hi" });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  expect(server.engine.readings[0]!.cancelled).toBe(true);
});

test("one that has started goes on past it", async () => {
  server = await startTestServer({ queueTimeoutMs: 200 });
  const submitted = server.engine.next();
  server.engine.script = (request) => request.begin();
  const started = server.post("/v1/chat/completions", CHAT);
  const request = await submitted;
  server.engine.script = null;
  // It came later, so the time of the first is over as well.
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(503);
  request.say("a").finish();
  expect((await started).status).toBe(200);
});
