import { describe, expect, it, onTestFinished, test } from "vitest";
import { makeReport, reportText } from "../../../../server/doctor/report.ts";
import { upstreamAdvice } from "../../../../server/doctor/upstream-advice.ts";
import { checkUpstream, type ReplicaCheck } from "../../../../server/doctor/upstream-check.ts";
import { FakeUpstream } from "../../../upstream/fake-upstream.ts";
import type { UpstreamOptions } from "../../../upstream/upstream-options.ts";
import { CONFIG } from "../../engine/upstream/upstream-rig.ts";

const DEAD = "http://127.0.0.1:1/v1";

async function fake(options: UpstreamOptions): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start(options);
  onTestFinished(() => upstream.stop());
  return upstream;
}

describe("the check of an upstream", () => {
  it("finds its kind, models, contexts, and whether its load can be read", async () => {
    const upstream = await fake({ kind: "vllm", model: "org/m" });
    const { name, kind, replicas } = await checkUpstream({
      ...CONFIG,
      replicas: [{ url: upstream.baseUrl, weight: 1 }],
    });
    const models = [{ id: "org/m", context: 4096 }];
    expect({ name, kind }).toEqual({ name: "up", kind: "vllm" });
    expect(replicas).toEqual([{ url: upstream.baseUrl, models, failure: null, metrics: true }]);
    expect(upstream.requests.map(({ method }) => method)).not.toContain("POST");
  });

  it("reads the context of a llama-server's slots, and misses its metrics", async () => {
    const upstream = await fake({ kind: "llama-server", metrics: false, context: 2048 });
    const { replicas } = await checkUpstream({ ...CONFIG, replicas: [{ url: upstream.baseUrl, weight: 1 }] });
    expect(replicas).toMatchObject([{ models: [{ context: 2048 }], metrics: false }]);
  });

  it("tells a refused key from a replica that does not answer", async () => {
    const upstream = await fake({ kind: "vllm", apiKey: "right" });
    const { kind, replicas } = await checkUpstream({
      ...CONFIG,
      apiKey: "wrong",
      replicas: [DEAD, upstream.baseUrl].map((url) => ({ url, weight: 1 })),
    });
    expect(kind).toBeNull();
    expect(replicas).toMatchObject([
      { models: null, failure: { reason: "ECONNREFUSED", fault: null } },
      { models: null, failure: { fault: "key" } },
    ]);
  });
});

const URL = "http://10.0.0.1:8000/v1";
const WELL: ReplicaCheck = { url: URL, models: [{ id: "m", context: 4096 }], failure: null, metrics: true };
const failed = (fault: "key" | "path" | null, reason = "why") => ({
  ...WELL,
  models: null,
  failure: { reason, fault },
});
const without = (more: Partial<ReplicaCheck>) => ({ ...WELL, ...more });

describe("advice on an upstream", () => {
  it("is none where all is well", () => {
    expect(upstreamAdvice({ name: "up", kind: "vllm", replicas: [WELL] }, CONFIG)).toEqual([]);
  });

  test.each<[string, Parameters<typeof upstreamAdvice>[0]["kind"], ReplicaCheck[], Partial<typeof CONFIG>, RegExp]>([
    ["a dead replica", null, [failed(null, "ECONNREFUSED")], {}, /does not list its models \(ECONNREFUSED\)/],
    ["a key that is missing", null, [failed("key")], {}, /asks for an API key: set apiKeyEnv/],
    ["a key that is refused", null, [failed("key")], { apiKey: "k" }, /refuses the API key: check/],
    ["a wrong path", null, [failed("path")], {}, /check the path of its URL, such as \/v1 or \/openai\/v1/],
    ["no models", "vllm", [without({ models: [] })], {}, /lists no models/],
    [
      "a configured model that is missing",
      "vllm",
      [WELL],
      { models: { chat: "x" } },
      /No replica lists the model 'x'; listed are: m\./,
    ],
    ["uneven models", "vllm", [WELL, without({ models: [] })], {}, /Not every replica lists 'm'/],
    ["uneven contexts", "vllm", [WELL, without({ models: [{ id: "m", context: 8 }] })], {}, /different contexts/],
    [
      "an unknown context",
      "vllm",
      [without({ models: [{ id: "m", context: null }] })],
      {},
      /131,072 tokens are assumed/,
    ],
    ["a llama-server without metrics", "llama-server", [without({ metrics: false })], {}, /start it with --metrics/],
    ["SGLang without metrics", "sglang", [without({ metrics: false })], {}, /start it with --enable-metrics/],
    ["another engine without metrics", "vllm", [without({ metrics: false })], {}, /let this server read its \/metrics/],
    ["a kind that came out as openai", "openai", [without({ metrics: null })], {}, /The kind of 'up' is not told/],
    ["a key without TLS", "vllm", [WELL], { apiKey: "k" }, /gets its API key without TLS/],
  ])("names %s", (_, kind, replicas, config, note) => {
    expect(upstreamAdvice({ name: "up", kind, replicas }, { ...CONFIG, ...config }).join("\n")).toMatch(note);
  });

  it("takes a configured kind, a configured context, TLS and loopback as they are", () => {
    const local = without({ url: "http://127.0.0.1:8000/v1", models: [{ id: "m", context: null }], metrics: null });
    const replicas = [local, { ...local, url: "https://api/v1" }];
    const config = { ...CONFIG, kind: "openai" as const, context: 4096, apiKey: "k" };
    expect(upstreamAdvice({ name: "up", kind: "openai", replicas }, config)).toEqual([]);
  });
});

const MACHINE = { platform: "p", node: "n", cpu: "c", cores: 4, memory: 1e9, freeMemory: 1e9 };
const GOOD = { name: "up", kind: "vllm" as const, replicas: [WELL], notes: [] };

test("the report shows upstreams, and fails with a replica that fails", () => {
  const bad = { name: "gone", kind: null, replicas: [failed(null)], notes: ["Do this."] };
  const text = reportText(makeReport("1", MACHINE, [], [GOOD, bad]));
  for (const part of ["Upstream up", "m; context 4,096 tokens", `${URL}: answers, its load can be read`]) {
    expect(text).toContain(part);
  }
  expect(text).toMatch(/Upstream gone\n +kind +not known\n +replica +http:.*: failed\n\n {2}- Do this\./);
  expect(text).toContain("A check failed");
  expect(makeReport("1", MACHINE, [], [GOOD])).toMatchObject({ ok: true });
});

test("the end of the report refers to the notes on upstreams where there are any", () => {
  const of = (notes: string[]) => reportText(makeReport("1", MACHINE, [], [{ ...GOOD, notes }]));
  expect(of(["Do this."])).toMatch(
    /\n {2}- Do this\.\n\nNo check failed; the notes on upstreams say what to change\.\n$/,
  );
  expect(of([])).toMatch(/\nAll checks passed\.\n$/);
});
