import { expect, onTestFinished, test } from "vitest";
import { modelList } from "../../../../openapi/resources/models.ts";
import { type UpstreamReport, upstreamList } from "../../../../openapi/resources/upstreams.ts";
import { upstreamsText } from "../../../../server/cli/upstreams-command.ts";
import type { UpstreamSetting } from "../../../../server/options/kinds/upstream-kind.ts";
import { FakeUpstream } from "../../../upstream/fake-upstream.ts";
import { startTestServer, type TestServer } from "../test-server.ts";
import { upstreamSetting } from "../upstream-setting.ts";

async function start(settings: UpstreamSetting[], more = {}): Promise<TestServer> {
  const server = await startTestServer({ upstream: settings, ...more });
  onTestFinished(() => server.close());
  return server;
}

async function vllm(model = "m"): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ kind: "vllm", model });
  onTestFinished(() => upstream.stop());
  return upstream;
}

const read = async (server: TestServer, path: string) => (await fetch(server.url + path)).json();
const report = async (server: TestServer) => upstreamList.parse(await read(server, "/v1/nightshift/upstreams")).data;

/** An address without a listener. */
const DEAD = "http://127.0.0.1:1/v1";

test("an upstream has its kind, its models under their names, and the health of each replica", async () => {
  const fake = await vllm("org/m");
  const server = await start([upstreamSetting("gpu", [fake.baseUrl, DEAD], { models: { chat: "org/m" } })]);
  const [upstream] = await report(server);
  expect(upstream).toMatchObject({ object: "nightshift.upstream", name: "gpu", kind: "vllm", queued: 0 });
  expect(upstream?.models).toEqual([
    { id: "chat", upstream_id: "org/m", state: "ready", context: 4096, refuses: [...VLLM] },
  ]);
  expect(upstream?.replicas).toMatchObject([
    { url: fake.baseUrl, healthy: true, last_error: null, limit: 8, in_flight: { online: 0, lower_tiers: 0 } },
    { url: DEAD, healthy: false, last_error: "ECONNREFUSED", load: null, breaker: { state: "closed", retry_in_ms: 0 } },
  ]);
});

const VLLM = ["a GBNF grammar", "log probabilities of the prompt", "samplers of llama.cpp", "a reasoning budget"];

test("a replica has the load that it reports, with its age", async () => {
  const fake = await vllm();
  fake.kvUsed = 0.5;
  const server = await start([upstreamSetting("gpu", [fake.baseUrl])]);
  await fake.arrival("/metrics");
  await expect
    .poll(async () => (await report(server))[0]?.replicas[0]?.load)
    .toEqual({ running: 0, waiting: 0, kv_usage: 0.5, generated_tokens: 0, age_ms: expect.any(Number) });
});

test("a server without upstreams has an empty list", async () => {
  expect(await report(await start([]))).toEqual([]);
});

test("the lists of models and /ready name the upstream of a model, /ready only without keys", async () => {
  const fake = await vllm();
  const server = await start([upstreamSetting("gpu", [fake.baseUrl])]);
  const { data } = modelList.parse(await read(server, "/v1/models"));
  expect(data.map(({ id, nightshift }) => [id, nightshift.upstream])).toEqual([["m", "gpu"]]);
  expect(await read(server, "/ready")).toMatchObject({ models: [{ id: "m", state: "ready", upstream: "gpu" }] });
  const closed = await start([upstreamSetting("gpu", [fake.baseUrl])], { apiKeys: "on" });
  expect(await read(closed, "/ready")).toMatchObject({ models: [{ state: "ready" }] });
  expect(JSON.stringify(await read(closed, "/ready"))).not.toContain("gpu");
});

test("a model of this server has no upstream", async () => {
  const { data } = modelList.parse(await read(await start([]), "/v1/models"));
  expect(data[0]?.nightshift.upstream).toBeNull();
});

const REPLICA: UpstreamReport["replicas"][number] = {
  url: "http://a:8000/v1",
  weight: 1,
  healthy: true,
  in_flight: { online: 3, lower_tiers: 12 },
  limit: 16,
  paused_ms: 0,
  load: { running: 15, waiting: 2, kv_usage: 0.41, generated_tokens: 9, age_ms: 400 },
  breaker: { state: "closed", retry_in_ms: 0 },
  last_error: null,
};
const UPSTREAM: UpstreamReport = {
  object: "nightshift.upstream",
  name: "gpu",
  kind: "vllm",
  models: [{ id: "chat", upstream_id: "org/m", state: "ready", context: 32_768, refuses: [] }],
  queued: 0,
  replicas: [REPLICA],
};

test("the command prints models and replicas as tables", () => {
  const text = upstreamsText([UPSTREAM]);
  expect(text).toMatch(/^Upstream 'gpu' \(vllm\)$/m);
  expect(text).toMatch(/^chat {3}org\/m {5}ready {3}32,768$/m);
  expect(text).toMatch(/^http:\/\/a:8000\/v1 +up +1 +3 +12 +16 +15 +2 +41 % +1 s ago$/m);
  expect(text).not.toContain("Last errors");
});

test("the command prints why a replica gets no requests, and its last error", () => {
  const replicas = [
    { ...REPLICA, healthy: false, load: null, last_error: "ECONNREFUSED" },
    { ...REPLICA, breaker: { state: "open" as const, retry_in_ms: 29_500 } },
    { ...REPLICA, paused_ms: 4000 },
  ];
  const text = upstreamsText([{ ...UPSTREAM, replicas, queued: 7, models: [] }]);
  expect(text).toContain("7 requests of flex and batch wait for a place");
  expect(text).toContain("No models were found yet.");
  expect(text).toMatch(/ down .* - +- +- +none$/m);
  expect(text).toMatch(/ breaker open, 30 s /);
  expect(text).toMatch(/ paused, 4 s /);
  expect(text).toContain("  http://a:8000/v1: ECONNREFUSED");
});

test("the command names the option where a server has no upstreams", () => {
  expect(upstreamsText([])).toBe("This server has no upstreams: --upstream name=url adds one.\n");
});
