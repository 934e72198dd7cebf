import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LINE_OUTCOMES } from "../../batch/lines/line-observer.ts";
import { CHANGE_REASONS } from "../../batch/shift/shift-decision.ts";
import { ENGINE_STATES } from "../../engine/engine.ts";
import { STORE_ERROR_CODES } from "../../store/types/store-error.ts";
import { complete, endless, stream, user } from "./ask.ts";
import { HeldSteps } from "./held-steps.ts";
import { readied, TestServer } from "./server.ts";

const CHAT = { model: "demo", endpoint: "/v1/chat/completions", tier: "default" };
const COMPLETIONS = { ...CHAT, endpoint: "/v1/completions" };

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  server = await readied(new TestServer(["--sequences", "4"], steps.env));
});
afterAll(() => server.stop());

describe("after known traffic", () => {
  test("tokens, requests and latencies are counted, streamed or not", async () => {
    const whole = await complete(server.client, "Tell me a story about a fox.", { n: 2 });
    let streamed = 0;
    let prompt = 0;
    for await (const { usage } of await stream(server.client, "Count from 1 to 9.", {
      stream_options: { include_usage: true },
    })) {
      streamed = usage?.completion_tokens ?? streamed;
      prompt = usage?.prompt_tokens ?? prompt;
    }
    const text = await server.client.completions.create({ model: "demo", prompt: ["a", "b"], max_tokens: 5 });
    await server.client.chat.completions.create({ model: "demo", messages: [user("Hi!")], n: 99 }).catch(() => {});
    await server.idle();

    const metrics = await server.metrics();
    const chat = (name: string) => metrics.sum(`nightshift_${name}`, CHAT);
    const { usage } = whole;
    expect(chat("prompt_tokens_total")).toBe(usage!.prompt_tokens + prompt);
    expect(chat("generation_tokens_total")).toBe(usage!.completion_tokens + streamed);
    expect(chat("requests_total")).toBe(2);
    expect(metrics.sum("nightshift_requests_total", { ...CHAT, status: "ok" })).toBe(2);
    expect(metrics.sum("nightshift_requests_total", { model: "", status: "refused" })).toBe(1);
    expect(chat("time_to_first_token_seconds_count")).toBe(2);
    expect(chat("queue_time_seconds_count")).toBe(2);
    expect(chat("request_duration_seconds_count")).toBe(2);
    expect(metrics.sum("nightshift_store_busy_seconds_total", {})).toBeGreaterThan(0);
    // In each sequence, every token but the first follows another.
    expect(chat("inter_token_latency_seconds_count")).toBe(usage!.completion_tokens - 2 + streamed - 1);
    expect(chat("time_per_output_token_seconds_count")).toBe(3);
    const total = chat("request_duration_seconds_sum");
    expect(chat("time_to_first_token_seconds_sum")).toBeLessThan(total);
    expect(chat("queue_time_seconds_sum")).toBeLessThanOrEqual(chat("time_to_first_token_seconds_sum"));
    expect(metrics.sum("nightshift_generation_tokens_total", COMPLETIONS)).toBe(text.usage!.completion_tokens);
    expect(metrics.sum("nightshift_prompt_tokens_total", COMPLETIONS)).toBe(2);
  });

  test("cached prompt tokens equal those of usage", async () => {
    const before = (await server.metrics()).sum("nightshift_cached_prompt_tokens_total", CHAT);
    await complete(server.client, "Capital of Senegal?");
    const { usage } = await complete(server.client, "Capital of Senegal?");
    await server.idle();
    const after = (await server.metrics()).sum("nightshift_cached_prompt_tokens_total", CHAT);
    expect(usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThan(5);
    expect(after - before).toBeGreaterThanOrEqual(usage!.prompt_tokens_details!.cached_tokens!);
  });

  test("the engine's steps and cells are reported", async () => {
    const metrics = await server.metrics();
    const steps = metrics.sum("nightshift_step_seconds_count", { model: "demo" });
    expect(steps).toBeGreaterThan(20);
    expect(metrics.sum("nightshift_batch_size_count")).toBe(steps);
    const parts = ["plan", "fill", "decode", "sample"].map((part) =>
      metrics.sum(`nightshift_step_${part}_seconds_sum`),
    );
    expect(Math.min(...parts)).toBeGreaterThan(0);
    // The parts sum up to the step: each begins where the one before ends.
    const whole = metrics.sum("nightshift_step_seconds_sum");
    expect(parts.reduce((a, b) => a + b)).toBeCloseTo(whole, 9);
    for (const part of ["text", "post"]) expect(metrics.sum(`nightshift_step_${part}_seconds_sum`)).toBeGreaterThan(0);
    expect(metrics.sum("nightshift_batch_size_sum")).toBeGreaterThan(steps);
    const used = metrics.sum("nightshift_kv_cache_usage_ratio");
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(1);
    expect(metrics.sum("nightshift_engine_restarts_total", { model: "demo" })).toBe(0);
  });

  test("running and waiting requests are reported while they run and wait", async () => {
    const running = await Promise.all(
      Array.from({ length: 4 }, () => stream(server.client, "Count from 1 to 20.", endless(3000))),
    );
    steps.allow(0);
    const waiting = complete(server.client, "Hello!");
    await server.reaches("nightshift_requests_running", 4);
    await server.reaches("nightshift_requests_waiting", 1);
    for (const { controller } of running) controller.abort();
    steps.release();
    await waiting;
    await server.idle();
    expect((await server.metrics()).sum("nightshift_requests_total", { ...CHAT, status: "cancelled" })).toBe(4);
  });
});

test("tiers have their own series", async () => {
  await complete(server.client, "Hello!", { service_tier: "priority" });
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_requests_total", { tier: "priority", status: "ok" })).toBe(1);
});

test("labels are model, endpoint, tier and status, with known values", async () => {
  const known: Record<string, RegExp> = {
    model: /^(demo)?$/,
    endpoint: /^\/v1\/((chat\/)?completions|responses|messages|embeddings)$/,
    tier: /^(priority|default|flex|batch)$/,
    // Requests, refusals by limits and by the key check, webhook attempts, batches, lines, the shift's phases and reasons, and the store's errors.
    status: new RegExp(
      `^(${[
        "ok|refused|limited|unavailable|put_off|cancelled|error",
        "requests|tokens|concurrent|budget",
        "401|429|503",
        "delivered|failed|dead",
        "validating|in_progress|finalizing|completed|expired|cancelling",
        "always|night|day|idle|busy|deadline|off",
        CHANGE_REASONS.join("|"),
        STORE_ERROR_CODES.join("|"),
        ENGINE_STATES.join("|"),
        LINE_OUTCOMES.join("|"),
      ].join("|")})$`,
    ),
    le: /^(\+Inf|[\d.]+)$/,
  };
  const own = (await server.metrics()).samples.filter(
    ({ name }) => name.startsWith("nightshift_") && !/^nightshift_(process|nodejs)_/.test(name),
  );
  expect(own.length).toBeGreaterThan(100);
  for (const { labels } of own) {
    for (const [label, value] of Object.entries(labels)) expect(value).toMatch(known[label]!);
  }
});
