import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { complete, endless, stream, user } from "./ask.ts";
import { failure } from "./failure.ts";
import { HeldSteps } from "./held-steps.ts";
import { KeyedServer } from "./keyed.ts";
import { until } from "./until.ts";

const steps = new HeldSteps();
let keyed: KeyedServer;
beforeAll(async () => {
  keyed = await KeyedServer.startWith(steps.env, "--prices", "demo=10/5/20");
});
afterAll(() => keyed.server.stop());

const BODY = { model: "demo", messages: [user("Hi")], max_tokens: 4 };

test("requests a minute are counted in OpenAI's headers, and then refused with Retry-After", async () => {
  const { client } = await keyed.key({ requests_per_minute: 2 });
  for (const left of ["1", "0"]) {
    const { response } = await client.chat.completions.create(BODY).withResponse();
    expect(response.headers.get("x-ratelimit-limit-requests")).toBe("2");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe(left);
    expect(response.headers.get("x-ratelimit-reset-requests")).toMatch(/^(\d+m)?\d+(\.\d+)?s$/);
    expect(response.headers.get("x-ratelimit-limit-tokens")).toBeNull();
  }
  const error = await failure(client.chat.completions.create(BODY));
  expect(error).toBeInstanceOf(OpenAI.RateLimitError);
  expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" });
  const waitMs = Number(error.headers?.get("retry-after-ms"));
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(30_000);
  expect(Number(error.headers?.get("retry-after"))).toBe(Math.ceil(waitMs / 1000));
  expect(error.headers?.get("x-ratelimit-remaining-requests")).toBe("0");
  // Other endpoints count too, files and lists do not.
  expect((await failure(client.embeddings.create({ model: "demo", input: "x" }))).status).toBe(429);
  await client.models.list();
  const metrics = await keyed.server.metrics();
  expect(metrics.sum("nightshift_limit_refusals_total", { model: "demo", status: "requests" })).toBe(2);
});

test("calls that count tokens take requests of the minute, and no tokens", async () => {
  const { client } = await keyed.key({ requests_per_minute: 2, tokens_per_minute: 100 });
  await client.post("/tokenize", { body: { model: "demo", prompt: "one two three ".repeat(100) } });
  const dry = { ...BODY, nightshift: { dry_run: true } };
  const { response } = await client.post("/chat/completions", { body: dry }).withResponse();
  expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("100");
  for (const [path, body] of [
    ["/tokenize", { model: "demo", prompt: "x" }],
    ["/detokenize", { model: "demo", tokens: [1] }],
    ["/chat/completions", dry],
  ] as const) {
    expect(await failure(client.post(path, { body }))).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  }
});

test("tokens a minute are taken by prompt and max_tokens, and corrected by usage", async () => {
  const { client } = await keyed.key({ tokens_per_minute: 200 });
  const first = await client.chat.completions.create({ ...BODY, max_tokens: 150 }).withResponse();
  const reserved = 200 - Number(first.response.headers.get("x-ratelimit-remaining-tokens"));
  expect(reserved).toBeGreaterThan(150);
  const second = await client.chat.completions.create({ ...BODY, max_tokens: 100 }).withResponse();
  // Without the correction of the first, fewer than 50 would be left.
  const used = first.data.usage!.total_tokens;
  const left = Number(second.response.headers.get("x-ratelimit-remaining-tokens"));
  expect(left).toBeGreaterThanOrEqual(200 - used - 120);
  const large = await failure(client.chat.completions.create({ ...BODY, max_tokens: 201 }));
  expect(large).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  expect(large.headers?.get("x-should-retry")).toBe("false");
});

test("a request past the concurrency limit is refused until another ends", async () => {
  const { client } = await keyed.key({ concurrent: 1 });
  steps.allow(5);
  const running = await stream(client, "Count from 1 to 20.", endless(100));
  await running[Symbol.asyncIterator]().next();
  const error = await failure(client.chat.completions.create(BODY));
  expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  expect(error.headers?.get("retry-after-ms")).toBe("1000");
  running.controller.abort();
  steps.release();
  await until("the stream's place to be free", async () => {
    return client.chat.completions.create(BODY).then(
      () => true,
      () => false,
    );
  });
});

test("a budget admits requests while something is left, and a raise takes effect at once", async () => {
  const { id, client } = await keyed.key({ owner: "thrifty", budget: { daily_usd: 1, soft_ratio: 0.5 } });
  const { response, data } = await client.chat.completions.create(BODY).withResponse();
  expect(response.headers.get("x-nightshift-budget-warning")).toBeNull();
  const { prompt_tokens, completion_tokens } = data.usage!;
  const settled = async () => (await keyed.owner("thrifty")).spending.held_usd === 0;
  await until("the cost to be spent", settled);
  const { spending } = await keyed.owner("thrifty");
  expect(spending.day_usd).toBeGreaterThan((prompt_tokens * 5 + completion_tokens * 20) / 1e6 - 1e-9);
  expect(spending).toMatchObject({ month_usd: spending.day_usd, held_usd: 0 });

  await keyed.patchKey(id, { budget: { daily_usd: spending.day_usd } });
  const error = await failure(client.chat.completions.create(BODY));
  expect(error).toMatchObject({ status: 429, code: "insufficient_quota", type: "insufficient_quota" });
  expect(error.message).toContain("the key's daily budget");
  expect(error.headers?.get("x-should-retry")).toBe("false");

  await keyed.patchKey(id, { budget: { daily_usd: spending.day_usd * 1.5 } });
  const warned = await client.chat.completions.create(BODY).withResponse();
  expect(warned.response.headers.get("x-nightshift-budget-warning")).toMatch(/^key-daily=\d\.\d{3}$/);
});

test("an owner's budget bounds all of its keys, and no other owner's", async () => {
  const keys = [await keyed.key({ owner: "poor" }), await keyed.key({ owner: "poor" })];
  const other = await keyed.key({ owner: "rich" });
  expect(await keyed.owner("poor", { monthly_usd: 0 })).toMatchObject({ budget: { daily_usd: null, monthly_usd: 0 } });
  for (const { client } of keys) {
    const error = await failure(complete(client, "Hi"));
    expect(error).toMatchObject({ code: "insufficient_quota" });
    expect(error.message).toContain("the owner's monthly budget");
    expect((await failure(client.embeddings.create({ model: "demo", input: "x" }))).code).toBe("insufficient_quota");
  }
  await complete(other.client, "Hi", { max_tokens: 2 });
  // An owner can read its own budget only, and change none.
  expect(await keys[0]!.client.get("/nightshift/owners/poor")).toMatchObject({ id: "poor" });
  expect((await failure(keys[0]!.client.get("/nightshift/owners/rich"))).status).toBe(404);
  const raise = keys[0]!.client.patch("/nightshift/owners/poor", { body: { budget: null } });
  expect((await failure(raise)).status).toBe(403);
  await keyed.admin.patch("/nightshift/owners/poor", { body: { budget: null } });
  await complete(keys[0]!.client, "Hi", { max_tokens: 2 });
});
