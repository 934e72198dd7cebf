import { afterEach, beforeEach, expect, it } from "vitest";
import type { EngineState } from "../../../../engine/engine.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ queueLimit: 2 });
});
afterEach(() => server.close());

const states: [EngineState, object][] = [
  [
    { name: "loading", progress: 0.25 },
    { state: "loading", progress: 0.25 },
  ],
  [
    { name: "restarting", reason: "it died", retryInMs: 2500 },
    { state: "restarting", reason: "it died" },
  ],
  [
    { name: "failed", reason: "bad magic" },
    { state: "failed", reason: "bad magic" },
  ],
  [{ name: "closed" }, { state: "closed" }],
];
it.each(states)("%o is a 503 with its reason on /ready", async (state, reported) => {
  server.engine.state = state;
  server.engine.retryAfterSeconds = 17;
  const ready = await fetch(`${server.url}/ready`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({
    status: "not_ready",
    models: [{ id: "demo", ...reported }],
    store: { state: "writable" },
  });
  const refused = await server.post("/v1/chat/completions", CHAT);
  expect(refused.status).toBe(503);
  const seconds = Number(refused.headers.get("retry-after"));
  expect(seconds).toBe(state.name === "closed" ? 5 : 17);
  expect(Number(refused.headers.get("retry-after-ms"))).toBe(seconds * 1000);
  expect(refused.headers.get("x-should-retry")).toBe(state.name === "failed" ? "false" : null);
  expect(await refused.json()).toMatchObject({ error: { type: "server_error" } });
});

it("a model that is loaded on demand is ready, and a late load is 503, for flex 429", async () => {
  const bounded = await startTestServer({ maxWaitMs: 20, flexWaitMs: 20 });
  bounded.engine.state = { name: "unloaded" };
  bounded.engine.ready = (signal) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const ready = await fetch(`${bounded.url}/ready`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({ models: [{ id: "demo", state: "unloaded" }] });
  const late = await bounded.post("/v1/chat/completions", CHAT);
  expect(late.status).toBe(503);
  expect(Number(late.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(await late.json()).toMatchObject({ error: { code: "model_loading" } });
  const flex = await bounded.post("/v1/chat/completions", { ...CHAT, service_tier: "flex" });
  expect(flex.status).toBe(429);
  expect(await flex.json()).toMatchObject({ error: { code: "resource_unavailable", type: "rate_limit_error" } });
  await bounded.close();
});

it("a draining server is not ready and refuses new requests", async () => {
  expect((await fetch(`${server.url}/ready`)).status).toBe(200);
  server.state.draining = true;
  expect(await (await fetch(`${server.url}/ready`)).json()).toMatchObject({ status: "shutting_down" });
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(503);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

it("a full queue is a 503, and waiting requests still run", async () => {
  const submit = async () => {
    const submitted = server.engine.next();
    const response = server.post("/v1/chat/completions", CHAT);
    return { request: await submitted, response };
  };
  const waiting = [await submit(), await submit()];
  const refused = await server.post("/v1/chat/completions", CHAT);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  for (const { request } of waiting) saying("a")(request);
  for (const { response } of waiting) expect((await response).status).toBe(200);
  server.engine.script = saying("b");
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(200);
});

it("closing waits for a stream and then refuses connections", async () => {
  const submitted = server.engine.next();
  const response = server.post("/v1/chat/completions", { ...CHAT, stream: true });
  const request = (await submitted).begin().say("a");
  const text = (await response).text();
  const closed = server.close(10_000);
  request.say("b").finish();
  expect(await text).toContain("[DONE]");
  await closed;
  await expect(fetch(`${server.url}/health`)).rejects.toThrow();
});

it("closing without grace ends running responses", async () => {
  const submitted = server.engine.next();
  const response = server.post("/v1/chat/completions", { ...CHAT, stream: true });
  const request = (await submitted).begin().say("a");
  const text = (await response).text().catch(() => "broken");
  await server.close(0);
  await request.whenCancelled;
  expect(await text).toBe("broken");
});
