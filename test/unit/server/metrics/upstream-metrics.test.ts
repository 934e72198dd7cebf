import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { UpstreamMetrics } from "../../../../server/metrics/upstream-metrics.ts";
import { Scrape } from "../../../api/scrape.ts";
import { fake, upstreamOf } from "../../engine/upstream/upstream-rig.ts";

async function start(replicas: number) {
  const fakes = await Promise.all(Array.from({ length: replicas }, () => fake()));
  const { upstream, access } = await upstreamOf(fakes, { name: "gpu", models: { chat: "m" } });
  const registry = new Registry();
  const metrics = new UpstreamMetrics(registry);
  metrics.watch([upstream]);
  const read = async (name: string, labels = {}) => {
    const { samples } = new Scrape(await registry.metrics());
    const wanted = Object.entries({ upstream: "gpu", ...labels });
    const found = samples.find((sample) => {
      return (
        sample.name === `nightshift_upstream_${name}` && wanted.every(([key, value]) => sample.labels[key] === value)
      );
    });
    return found?.value ?? null;
  };
  return { metrics, read, replicas: access.replicas };
}

const load = (generatedTokens: number | null) => ({ running: 0, waiting: 0, kvUsed: null, generatedTokens });

describe("series of an upstream", () => {
  it("begin with 0, so that the first increase is one", async () => {
    const { read } = await start(1);
    expect(await read("requests_total", { status: "ours" })).toBe(0);
    expect(await read("retries_total", { reason: "busy" })).toBe(0);
    expect(await read("hedged_total", { status: "neither" })).toBe(0);
    expect(await read("usage_estimated_total")).toBe(0);
    expect(await read("charged_tokens_total")).toBe(0);
  });

  it("count hedged requests by the attempt that won", async () => {
    const { metrics, read } = await start(1);
    metrics.hedged("gpu", "second");
    expect(await read("hedged_total", { status: "second" })).toBe(1);
    expect(await read("hedged_total", { status: "first" })).toBe(0);
  });

  it("count the tokens that the ledger charges for its models alone", async () => {
    const { metrics, read } = await start(1);
    metrics.charged({ model: "chat", outputTokens: 7 });
    metrics.charged({ model: "demo", outputTokens: 100 });
    metrics.charged({ model: "chat", outputTokens: 5 });
    expect(await read("charged_tokens_total")).toBe(12);
  });

  it("count what replicas generate from their first report on, over restarts", async () => {
    const { read, replicas } = await start(2);
    const [a, b] = replicas;
    a!.reported(load(1000), 1);
    expect(await read("generated_tokens_total")).toBeNull();
    b!.reported(load(50), 1);
    expect(await read("generated_tokens_total")).toBe(0);
    a!.reported(load(1010), 2);
    a!.reported(load(4), 3);
    b!.reported(load(51), 2);
    expect(await read("generated_tokens_total")).toBe(15);
  });

  it("have no tokens of replicas that do not tell", async () => {
    const { read, replicas } = await start(1);
    replicas[0]!.reported(load(null), 1);
    expect(await read("generated_tokens_total")).toBeNull();
    expect(await read("replicas")).toBe(1);
    expect(await read("up")).toBe(1);
  });
});
