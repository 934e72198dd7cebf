import { expect, test } from "vitest";
import { memoryRow, memoryTrends } from "../../../bench/endurance/memory-trend.ts";
import { closedLoop, summarize } from "../../../bench/target/load.ts";
import { interleave } from "../../../bench/target/rounds.ts";
import type { Sample } from "../../../bench/target/stream.ts";
import { compare, throughputRows } from "../../../bench/throughput/throughput.ts";

const sample = (sentAt: number, endedAt: number, tokens = 10): Sample => ({
  sentAt,
  endedAt,
  ttft: 5,
  gaps: [1, 2, 3],
  tpot: 2,
  events: tokens,
  promptTokens: 100,
  cachedTokens: 40,
  completionTokens: tokens,
});

test("a rate is all tokens over the time from the first request to the last end", () => {
  const result = summarize([sample(1000, 2000), sample(1500, 3000, 30)], [], 0.1);
  expect(result.tokensPerSecond).toBe(40 / 2);
  expect(result.itl.count).toBe(6);
  expect(result.cachedTokens).toBe(80);
  expect(result.eventsPerToken).toBe(1);
});

test("a stream sends its next request after the previous one, even after a failure", async () => {
  const running = new Set<number>();
  const sent: number[] = [0, 0, 0];
  const result = await closedLoop(3, 4, async (client, request) => {
    expect(running.has(client)).toBe(false);
    running.add(client);
    sent[client]!++;
    await new Promise((resolve) => setImmediate(resolve));
    running.delete(client);
    if (client === 1 && request === 0) throw new Error("no");
    return sample(0, 1);
  });
  expect(sent).toEqual([4, 4, 4]);
  expect(result).toMatchObject({ requests: 12, failures: ["no"], completionTokens: 110 });
});

test("servers are interleaved, the order reversed each time", async () => {
  const order: string[] = [];
  const results = await interleave(["a", "b"], 3, async (arm, repeat) => {
    order.push(arm);
    return `${arm}${repeat}`;
  });
  expect(order).toEqual(["a", "b", "b", "a", "a", "b"]);
  expect(results).toEqual([
    ["a0", "a1", "a2"],
    ["b0", "b1", "b2"],
  ]);
});

test("the ratio is against the best peer, with minimum and maximum of the pairs", () => {
  const arm = (label: string, tokens: number[]) => ({
    streams: 8,
    label,
    repeats: tokens.map((count) => summarize([sample(0, 1000, count)], [], 0.1)),
  });
  const ours = arm("nightshift", [100, 120, 110]);
  const peers = [arm("slow", [50, 50, 50]), arm("fast", [100, 100, 50])];
  expect(compare(ours, peers)).toEqual({ streams: 8, peer: "fast", ratio: { median: 1.1, min: 1, max: 2.2 } });
  expect(throughputRows([ours, ...peers]).map((row) => row[3])).toEqual(["1.10 (1.00–2.20)", "", ""]);
  const both = throughputRows([ours, arm("nightshift slo 150", [200, 200, 200]), ...peers], 2);
  expect(both.map((row) => row[3])).toEqual(["1.10 (1.00–2.20)", "2.00 (2.00–4.00)", "", ""]);
  expect(compare(ours, [])).toBeNull();
});

test("memory trends are per process and exclude the warm-up", () => {
  const mib = (requests: number) => (requests < 2000 ? requests / 10 : 200);
  const samples = Array.from({ length: 11 }, (_, i) => i * 1000).map((requests) => ({
    requests,
    processes: [
      { pid: 1, name: "server", mib: mib(requests) },
      { pid: 2, name: "engine", mib: 300 + requests / 500 },
    ],
  }));
  const [server, engine, all] = memoryTrends(samples);
  expect(server).toMatchObject({ pid: 1, first: 0, last: 200 });
  expect(server!.perThousand).toBeCloseTo(0);
  expect(engine!.perThousand).toBeCloseTo(2);
  expect(all!.last).toBeCloseTo(520);
  expect(memoryRow(engine!)).toEqual(["engine (2)", "300.0", "320.0", "2.000"]);
  expect(memoryRow(all!).slice(0, 2)).toEqual(["all", "300.0"]);
});
