import { afterEach, expect, test } from "vitest";
import { embeddingsResponse } from "../../../openapi/resources/embeddings.ts";
import { EmbeddingLoad } from "../../../server/admission/embedding-load.ts";
import type { Options } from "../../../server/options/table.ts";
import type { FakeReading } from "../server/fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../server/test-server.ts";

let server: TestServer;
afterEach(() => server.close());

async function start(options: Partial<Options> = {}): Promise<void> {
  server = await startTestServer(options);
}

const BODY = { model: "demo", input: ["a", "b"] };

/** Gives each input a vector of the model's width that begins with its place. */
function answer({ listener, submission }: FakeReading): void {
  listener.accepted(7, null);
  listener.started();
  for (const index of submission.inputs.keys()) listener.vector(index, Float32Array.of(index, 1, 0, 0));
}

function post(body: object = BODY, init: RequestInit = {}): Promise<Response> {
  return server.post("/v1/embeddings", body, init);
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise(setImmediate);
}

test("the response has every key, and the engine gets the texts at the requested tier", async () => {
  await start();
  server.engine.embeds = answer;
  const body: unknown = await (await post({ ...BODY, service_tier: "flex" })).json();
  expect(embeddingsResponse.strict().parse(body)).toEqual({
    object: "list",
    data: [0, 1].map((index) => ({ object: "embedding", index, embedding: [index, 1, 0, 0] })),
    model: "demo",
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
  const inputs = ["a", "b"].map((text) => ({ kind: "text", text }));
  const endpoint = "/v1/embeddings";
  expect(server.engine.readings[0]!.submission).toEqual({ tier: "flex", owner: "local", endpoint, inputs });
});

test("with too many requests waiting, embeddings and chats are 503 with Retry-After", async () => {
  await start({ queueLimit: 1 });
  const first = post();
  await until(() => server.engine.readings.length === 1);
  const response = await post();
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(503);
  answer(server.engine.readings[0]!);
  expect((await first).status).toBe(200);
});

test("a flex request whose queue wait is too long is 429 and not charged", async () => {
  await start({ flexWaitMs: 20 });
  const response = await post({ ...BODY, service_tier: "flex" });
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({ error: { code: "resource_unavailable" } });
  expect(server.engine.readings[0]!.cancelled).toBe(true);
});

test("a disconnect of the client cancels the embedding", async () => {
  await start();
  const leaving = new AbortController();
  const response = post(BODY, { signal: leaving.signal }).catch(() => null);
  await until(() => server.engine.readings.length === 1);
  leaving.abort();
  await response;
  await until(() => server.engine.readings[0]!.cancelled);
});

test("an engine death before the response restarts the request, and its tokens count once", async () => {
  await start();
  server.engine.embeds = (reading) => {
    reading.listener.accepted(7, null);
    reading.listener.started();
    reading.listener.vector(0, Float32Array.of(9, 9, 9, 9));
    expect(reading.listener.mayRestart("died")).toBe(true);
    answer(reading);
  };
  expect(await (await post()).json()).toMatchObject({
    data: [{ embedding: [0, 1, 0, 0] }, { embedding: [1, 1, 0, 0] }],
    usage: { prompt_tokens: 7 },
  });
});

test("the queue wait is predicted from waiting tokens and the rate of recent embedding batches", () => {
  const load = new EmbeddingLoad();
  load.add("default", "a", 1000);
  expect(load.waitMs("default", "a")).toBe(0);
  load.learn({ ms: 50, online: true, inputs: 4, tokens: 100, shares: [] });
  load.add("batch", "a", 5000);
  load.add("flex", "a", 200);
  const tiers = ["priority", "default", "flex"] as const;
  expect(tiers.map((tier) => load.waitMs(tier, "a"))).toEqual([0, 500, 600]);
  // The fair queue serves another owner before most of it.
  expect(load.waitMs("default", "b")).toBeLessThan(1);
  load.add("default", "a", -1000);
  expect(load.waitMs("default", "a")).toBe(0);
});

test("a dry run is refused without being run or charged", async () => {
  await start();
  server.engine.embeds = answer;
  const response = await post({ ...BODY, nightshift: { dry_run: true } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: "unsupported_parameter", param: "nightshift.dry_run" },
  });
  expect((await post({ ...BODY, nightshift: { dry_run: false } })).status).toBe(200);
});
