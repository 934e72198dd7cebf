import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { bestArm } from "../../../../bench/suite/best-arm.ts";
import { ceilingRate } from "../../../../bench/suite/ceiling.ts";
import { document } from "../../../../bench/suite/document.ts";
import { clientLoop } from "../../../../bench/suite/load/batch-work.ts";
import { openLoop } from "../../../../bench/suite/load/open-loop.ts";
import { PRESETS } from "../../../../bench/suite/preset.ts";
import { goal, type Section } from "../../../../bench/suite/scenario.ts";
import { twoShiftsReport } from "../../../../bench/suite/scenarios/two-shifts-report.ts";
import { total } from "../../../../bench/target/counters.ts";
import { type Sample, stream } from "../../../../bench/target/stream.ts";
import { connect, type Target } from "../../../../bench/target/target.ts";

const sample = { gaps: [1], completionTokens: 2, events: 2, ttft: 5, sentAt: 0, endedAt: 10 } as unknown as Sample;

test("an open loop sends due requests regardless of earlier ones", async () => {
  const sent: number[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const result = await openLoop([0, 5, 10], async (index) => {
    sent.push(index);
    if (index === 0) await held;
    if (index === 1) throw new Error("lost");
    if (index === 2) release();
    return sample;
  });
  expect(sent).toEqual([0, 1, 2]);
  expect(result.samples.map((one) => one === null)).toEqual([false, true, false]);
  expect(result.failures).toEqual(["lost"]);
  expect(result.refusals).toEqual([]);
});

let close = () => {};
afterEach(() => close());

const refusing = (status: number, headers: Record<string, string>) =>
  serve((response) => response.writeHead(status, headers).end("no"));

async function serve(answer: (response: ServerResponse) => void): Promise<Target> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return connect("peer", new URL(`http://127.0.0.1:${address.port}/v1/`), "m", false);
}

test("a rejection is not a failure and has its Retry-After", async () => {
  const busy = await refusing(503, { "retry-after": "7" });
  const refused = await openLoop([0], () => stream(busy, { path: "completions" }));
  expect(refused.refusals).toEqual([{ index: 0, status: 503, retryAfter: 7 }]);
  expect(refused.failures).toEqual([]);
  close();
  const broken = await refusing(500, {});
  expect((await openLoop([0], () => stream(broken, { path: "completions" }))).failures[0]).toContain("500");
});

test("a client's loop counts the tokens of all lines until it is stopped", async () => {
  const waiting: ServerResponse[] = [];
  let ended = 0;
  let arrived = () => {};
  const target = await serve((response) => {
    waiting.push(response);
    arrived();
  });
  const atOnce = async (count: number) => {
    while (waiting.length < count) {
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
    }
  };
  const work = clientLoop(target, [{ path: "completions" }], 3);
  for (let round = 0; round < 4; round++) {
    await atOnce(3);
    for (const response of waiting.splice(0)) {
      response.end(JSON.stringify({ usage: { completion_tokens: 5 } }));
      ended++;
    }
  }
  await atOnce(3);
  expect(await work.tokens()).toBe(5 * ended);
  await work.stop();
  expect(await work.tokens()).toBe(60);
});

test("counters are summed over the series with the label", () => {
  const text = `# HELP n_total x
n_total{model="a",tier="batch"} 5
n_total{model="b",tier="batch"} 7.5
n_total{model="a",tier="default"} 100
n_total_more{tier="batch"} 1000
plain 3
`;
  expect(total(text, "n_total", 'tier="batch"')).toBe(12.5);
  expect(total(text, "n_total")).toBe(112.5);
  expect(total(text, "plain")).toBe(3);
  expect(total(text, "absent")).toBe(0);
});

test("the ceiling is generated tokens over the whole time, prompts included", () => {
  const table = `
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   256 |     32 |    8 |   2304 |    1.249 |  1640.26 |    0.402 |   636.90 |    1.600 |  1395.91 |
`;
  expect(ceilingRate(table)).toBe((32 * 8) / 1.6);
  expect(() => ceilingRate("error: no model")).toThrow("no model");
});

test("the best arm has the lowest or highest measured value", () => {
  const arms = [{ v: Number.NaN }, { v: 3 }, { v: 2 }];
  expect(bestArm(arms, ({ v }) => v, "least")).toBe(arms[2]);
  expect(bestArm(arms, ({ v }) => v, "most")).toBe(arms[1]);
  expect(bestArm([], () => 1, "most")).toBeNull();
});

test("a goal without a measurement is not met", () => {
  expect(goal("a", 1.1, "≤", 1.1)).toMatchObject({ met: true, wanted: "≤ 1.1" });
  expect(goal("a", 0.94, "≥", 0.95, " ×")).toMatchObject({ met: false, measured: "0.94 ×" });
  expect(goal("a", Number.NaN, "≥", 0)).toMatchObject({ met: false });
});

const target = (label: string) => ({ label }) as Target;

function shiftResults() {
  const [own, peer] = [target("nightshift"), target("np")];
  const engine = { busySeconds: 4, costs: { fixed: 1, prefill: 1, decode: 1, kv: 0, read: 0, pass: 1 } };
  const run = (ttft: number, itl: number, batchRate: number | null, oracleRate: number | null) => {
    const at = (p99: number) => ({ count: 9, mean: 1, min: 1, p50: 1, p90: 1, p99, max: p99 });
    const rest = { requests: 9, refusals: [], failures: [], clientCpu: 0, latestMs: 0 };
    // One repeat has no burst, and one of its requests got no answer: all repeats count together.
    return [[ttft, ttft, null], [1]].map((ttfts) => {
      return {
        ...rest,
        ttfts,
        ttft: at(0),
        itl: at(itl),
        batchRate,
        oracleRate,
        oracleSeconds: 3.8,
        oracleTtfts: [ttft + 1],
        engine,
      };
    });
  };
  const arms = [
    { target: own, load: 0.5, batch: false, repeats: run(100, 20, null, null) },
    { target: own, load: 0.5, batch: true, repeats: run(130, 21, 270, 300) },
    { target: peer, load: 0.5, batch: false, repeats: run(110, 20, null, null) },
    { target: peer, load: 0.5, batch: true, repeats: run(650, 60, 400, null) },
  ];
  const rules = { sequences: 8, stepTokens: 512, tax: 0.1, batchStepMs: 25, itlMs: 50, twoPasses: true };
  const plan = { seconds: 10, line: { prompt: 1, tokens: 2 } };
  return { arms, own, peer, capacity: 8, rules, plan, clients: 4, traffic: "a trace", warnings: [] };
}

test("two shifts compare the batch run with the run alone, the oracle and the peer", () => {
  const section = twoShiftsReport(shiftResults());
  expect(section.goals.map(({ measured, met }) => [measured, met])).toEqual([
    ["1.05 ×", true],
    ["20 ms", true],
    ["0.9 ×", true],
    ["5 ×", true],
  ]);
  expect(section.rows).toHaveLength(4);
  expect(section.about).toContain("the oracle 0.95");
  expect(JSON.stringify(section.data)).not.toContain("agent");
});

test("the report has commands, goals, and each section's table, figures and warnings", () => {
  const section: Section = {
    about: "What was done.",
    head: ["server", "ms"],
    rows: [["nightshift", "3"]],
    goals: [goal("a wait", 40, "≤", 30, " ms")],
    figures: [{ name: "waits", alt: "Waits", svg: "<svg/>" }],
    warnings: ["one request failed"],
    data: {},
  };
  const machine = {
    date: "2026-11-21T00:00:00.000Z",
    command: "bench suite --repeats 3",
    cpu: "a cpu",
    cores: 2,
    memoryGiB: 8,
    system: "Linux",
    node: "v20",
    load: 0,
  };
  const servers = [{ label: "nightshift", command: "nightshift serve --sequences 64" }];
  const sections = [{ name: "wait", title: "Waiting", section }];
  const report = { machine, preset: PRESETS.cpu, repeats: 3, seed: 1, minutes: 20, servers, model: "m", sections };
  const text = document(report, (name) => `cpu-${name}.svg`);
  expect(text).toContain("npm run bench -- suite --repeats 3");
  expect(text).toContain("nightshift: nightshift serve --sequences 64");
  expect(text).toMatch(/\| Waiting +\| +a wait +\| +≤ 30 ms +\| +40 ms +\| +no +\|/);
  expect(text).toContain("![Waits](cpu-waits.svg)");
  expect(text).toContain("- ! one request failed");
});
