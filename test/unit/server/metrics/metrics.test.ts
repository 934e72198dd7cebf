import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collectProcessMetrics } from "../../../../server/metrics/machine/process-metrics.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";

const LABELS = 'model="demo",endpoint="/v1/chat/completions",tier="default"';

describe("a served request", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.close());

  async function value(series: string): Promise<number> {
    const text = await server.metrics.registry.metrics();
    const line = text.split("\n").find((candidate) => candidate.startsWith(`nightshift_${series} `));
    return Number(line?.split(" ").at(-1) ?? Number.NaN);
  }

  it.each([true, false])("counts tokens and times (stream: %s)", async (stream) => {
    server.engine.script = (request) => request.begin(5, 2).say("a").say("b", { tokens: 2 }).say("c").finish();
    await (await server.post("/v1/chat/completions", { ...CHAT, stream })).text();
    await expect.poll(() => value(`requests_total{${LABELS},status="ok"}`)).toBe(1);
    expect(await value(`time_to_first_token_seconds_count{${LABELS}}`)).toBe(1);
    expect(await value(`queue_time_seconds_count{${LABELS}}`)).toBe(1);
    // The request waits in the queue alone: its first token comes in the turn in which it starts.
    const waited = await value(`queue_time_seconds_sum{${LABELS}}`);
    expect(waited).toBeGreaterThan(0);
    expect(await value(`time_to_first_token_seconds_sum{${LABELS}}`)).toBeGreaterThanOrEqual(waited);
    expect(await value(`request_duration_seconds_count{${LABELS}}`)).toBe(1);
    expect(await value(`inter_token_latency_seconds_count{${LABELS}}`)).toBe(3);
    expect(await value(`prompt_tokens_total{${LABELS}}`)).toBe(5);
    expect(await value(`cached_prompt_tokens_total{${LABELS}}`)).toBe(2);
    expect(await value(`generation_tokens_total{${LABELS}}`)).toBe(4);
  });

  it("counts a refused request without client text in a label", async () => {
    await server.post("/v1/chat/completions", { ...CHAT, model: "evil\nname", user: "someone" });
    await server.post("/v1/chat/completions", { ...CHAT, temperature: 9 });
    const text = await server.metrics.registry.metrics();
    expect(text).toContain(
      'requests_total{model="",endpoint="/v1/chat/completions",tier="default",status="refused"} 2',
    );
    expect(text).not.toMatch(/evil|someone/);
  });

  it("moves from waiting to running to absent", async () => {
    const submitted = server.engine.next();
    const response = server.post("/v1/chat/completions", CHAT);
    const request = await submitted;
    const load = async () => [
      await value('requests_waiting{model="demo"}'),
      await value('requests_running{model="demo"}'),
    ];
    expect(await load()).toEqual([1, 0]);
    request.begin().say("a");
    expect(await load()).toEqual([0, 1]);
    request.finish();
    await response;
    expect(await load()).toEqual([0, 0]);
  });
});

describe("the series", () => {
  it("have only four labels, and buckets at the objectives", async () => {
    const registry = new Registry();
    const metrics = new Metrics(registry);
    collectProcessMetrics(registry, () => 3);
    metrics.watch(
      "demo",
      { running: 1, waiting: 2, sequences: { priority: 0, default: 3, flex: 0, batch: 0 } },
      () => 0,
    );
    metrics.meter("demo", "/v1/completions", "flex").firstToken(10);
    metrics.meter("demo", "/v1/completions", "flex").interToken(10, 2);
    metrics.step("demo", {
      planMs: 0.015,
      fillMs: 0.03,
      decodeMs: 3,
      sampleMs: 1,
      predictedMs: 3.5,
      onlineMs: 3,
      textMs: 0.15,
      postMs: 0.3,
      totalMs: 4,
      prefillTokens: 0,
      decodeTokens: 3,
      onlineTokens: 2,
      lowerTokens: 1,
      batchSize: 3,
      running: 1,
      waiting: 2,
      cellsUsed: 64,
      preempted: 4,
      evicted: 3,
      offloaded: 2,
      restored: 100,
      offloadedBytes: 4096,
      cells: 256,
      shares: [],
    });
    metrics.restarted("demo");
    metrics.started("demo", process.pid);
    const text = await registry.metrics();
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
    expect([...labels].sort()).toEqual(["endpoint", "le", "model", "status", "tier"]);
    for (const edge of [0.2, 0.5, 1, 1.5, 2, 120]) {
      expect(text).toContain(`nightshift_time_to_first_token_seconds_bucket{le="${edge}",`);
    }
    expect(text).toContain('nightshift_inter_token_latency_seconds_bucket{le="0.002",');
    expect(text).toContain('nightshift_kv_cache_usage_ratio{model="demo"} 0.25');
    expect(text).toContain('nightshift_sequences_displaced_total{model="demo"} 4');
    expect(text).toContain('nightshift_cache_evictions_total{model="demo"} 3');
    expect(text).toContain('nightshift_cache_parked_total{model="demo"} 2');
    expect(text).toContain('nightshift_cache_resumed_tokens_total{model="demo"} 100');
    expect(text).toContain('nightshift_park_memory_bytes{model="demo"} 4096');
    expect(text).toContain('nightshift_requests_waiting{model="demo"} 2');
    expect(text).toContain('nightshift_step_seconds_bucket{le="0.005",model="demo"} 1');
    const parts = { plan: 15e-6, fill: 30e-6, decode: 3e-3, sample: 1e-3, text: 150e-6, post: 300e-6 };
    for (const [part, seconds] of Object.entries(parts)) {
      const sum = new RegExp(`nightshift_step_${part}_seconds_sum\\{model="demo"\\} (\\S+)`).exec(text)?.[1];
      expect(Number(sum)).toBeCloseTo(seconds, 9);
    }
    expect(text).toContain('nightshift_step_plan_seconds_bucket{le="0.00001",model="demo"} 0');
    expect(text).toContain('nightshift_step_plan_seconds_bucket{le="0.00002",model="demo"} 1');
    expect(text).toContain('nightshift_batch_size_bucket{le="4",model="demo"} 1');
    expect(text).toContain('nightshift_engine_busy_seconds_total{model="demo"} 0.004');
    expect(text).toContain('nightshift_engine_online_seconds_total{model="demo"} 0.003');
    // |4 − 3.5| ÷ 4 = 0.125
    expect(text).toContain('nightshift_step_model_error_ratio_bucket{le="0.1",model="demo"} 0');
    expect(text).toContain('nightshift_step_model_error_ratio_bucket{le="0.2",model="demo"} 1');
    expect(text).toContain('nightshift_engine_restarts_total{model="demo"} 1');
    expect(text).toContain("nightshift_event_loop_delay_seconds_bucket");
    if (process.platform === "linux") {
      expect(text).toMatch(/nightshift_engine_resident_memory_bytes\{model="demo"\} \d{8,}\n/);
      expect(text).toMatch(/nightshift_engine_open_fds\{model="demo"\} \d+\n/);
    }
    // Gauges of an engine process end with it; its counters do not.
    metrics.ended("demo");
    const after = await registry.metrics();
    expect(after).not.toMatch(/^nightshift_(kv_cache_usage_ratio|park_memory_bytes|engine_resident|engine_open)\S* /m);
    expect(after).toContain('nightshift_engine_busy_seconds_total{model="demo"} 0.004');
    expect(text).toContain("nightshift_log_lines_dropped_total 3");
    expect(text).toContain('nightshift_sequences{model="demo",tier="default"} 3');
    expect(text).toContain('nightshift_step_predicted_seconds_total{model="demo"} 0.0035');
  });
});

describe("GET /metrics", () => {
  it("requires its token; without one it is open only on loopback", async () => {
    const loopback = await startTestServer();
    expect((await fetch(`${loopback.url}/metrics`)).status).toBe(200);
    const outside = await startTestServer({ host: "0.0.0.0", apiKeys: "off", metricsToken: "secret" });
    const get = (authorization?: string) =>
      fetch(`${outside.url}/metrics`, { headers: authorization ? { authorization } : {} });
    expect((await get()).status).toBe(401);
    expect((await get("Bearer wrong")).status).toBe(401);
    expect((await get("Bearer secret")).status).toBe(200);
    const behindProxy = await startTestServer({ metricsToken: "secret" });
    expect((await fetch(`${behindProxy.url}/metrics`)).status).toBe(401);
    const tokenless = await startTestServer({ host: "0.0.0.0", apiKeys: "off" });
    const refused = await fetch(`${tokenless.url}/metrics`, { headers: { authorization: "Bearer null" } });
    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain("--metrics-token sets it");
    await Promise.all([loopback.close(), outside.close(), behindProxy.close(), tokenless.close()]);
  });
});
