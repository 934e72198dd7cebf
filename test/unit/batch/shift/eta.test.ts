import { describe, expect, it } from "vitest";
import { etas } from "../../../../batch/shift/eta.ts";
import { DEFAULT_SHIFT, shiftRules } from "../../../../batch/shift/shift-rules.ts";
import { Throughput } from "../../../../batch/shift/throughput.ts";
import { HOUR } from "./day.ts";

const NOON = Date.parse("2026-11-20T12:00Z");
const order = [
  { batchId: "first", owner: "a", remainingTokens: 3600 * 100 },
  { batchId: "second", owner: "a", remainingTokens: 2 * 3600 * 100 },
];
const always = shiftRules(DEFAULT_SHIFT, "UTC");
const night = (trickle: number) =>
  shiftRules({ ...DEFAULT_SHIFT, mode: "night", night: ["19:00-20:00"], trickle }, "UTC");
const hours = (list: { etaMs: number | null }[]) => list.map(({ etaMs }) => etaMs && (etaMs - NOON) / HOUR);

describe("the predicted end of a batch", () => {
  it("includes the batches that run before it", () => {
    const expected = etas(always, { phase: "always", share: 1 }, order, NOON, 100);
    expect(expected).toEqual([
      { batchId: "first", position: 1, etaMs: NOON + HOUR },
      { batchId: "second", position: 2, etaMs: NOON + 3 * HOUR },
    ]);
  });

  it("includes the shares of other owners, and ranks batches by their end", () => {
    const other = { batchId: "small", owner: "b", remainingTokens: 1800 * 100 };
    const expected = etas(always, { phase: "always", share: 1 }, [...order, other], NOON, 100);
    expect(expected).toEqual([
      { batchId: "first", position: 2, etaMs: NOON + 1.5 * HOUR },
      { batchId: "second", position: 3, etaMs: NOON + 3.5 * HOUR },
      { batchId: "small", position: 1, etaMs: NOON + HOUR },
    ]);
  });

  it("includes the windows, and the trickle or deadline share between them", () => {
    expect(hours(etas(night(0), { phase: "day", share: 0 }, order, NOON, 100))).toEqual([8, 56]);
    expect(hours(etas(night(0.1), { phase: "day", share: 0.1 }, order, NOON, 100))[0]).toBeCloseTo(7.3);
    expect(hours(etas(night(0), { phase: "deadline", share: 0.5 }, order, NOON, 100))).toEqual([2, 6]);
  });

  it("is null before a measurement and while batch work has no share", () => {
    expect(hours(etas(always, { phase: "always", share: 1 }, order, NOON, null))).toEqual([null, null]);
    const idle = shiftRules({ ...DEFAULT_SHIFT, mode: "idle" }, "UTC");
    expect(hours(etas(idle, { phase: "busy", share: 0 }, order, NOON, 100))).toEqual([null, null]);
  });
});

describe("throughput", () => {
  const work = (tokens: number, ms: number, share: number) => {
    return { ms, share, ended: { lines: tokens > 0 ? 1 : 0, tokens }, inEngine: 1 };
  };

  it("is extrapolated from the share to all of the engine", () => {
    const throughput = new Throughput();
    expect(throughput.tokensPerSecond).toBeNull();
    throughput.add(work(0, 1000, 1));
    expect(throughput.tokensPerSecond).toBeNull();
    for (let i = 0; i < 100; i++) throughput.add(work(250, 10_000, 0.25));
    expect(throughput.tokensPerSecond).toBeCloseTo(100, 0);
  });

  it("leaves out time without a share", () => {
    const throughput = new Throughput();
    throughput.add(work(1000, 10_000, 1));
    throughput.add(work(0, 3_600_000, 0));
    expect(throughput.tokensPerSecond).toBe(100);
  });

  it("follows half of a change of load within ten minutes", () => {
    const throughput = new Throughput();
    for (let i = 0; i < 360; i++) throughput.add(work(1000, 10_000, 1));
    for (let i = 0; i < 60; i++) throughput.add(work(200, 10_000, 1));
    expect(throughput.tokensPerSecond).toBeCloseTo(60, 0);
  });

  it("is null until as many lines have ended as the engine has at a time", () => {
    const throughput = new Throughput();
    const second = (lines: number) =>
      throughput.add({ ms: 1000, share: 1, ended: { lines, tokens: 100 * lines }, inEngine: 64 });
    for (const lines of [0, 1, 31, 0, 31]) {
      second(lines);
      expect(throughput.tokensPerSecond).toBeNull();
    }
    second(1);
    expect(throughput.tokensPerSecond).toBeCloseTo(6400 / 6, -1);
  });

  it("is measured for a batch of few lines before the last has ended", () => {
    const throughput = new Throughput();
    for (let left = 8; left > 2; left--)
      throughput.add({ ms: 1000, share: 1, ended: { lines: 1, tokens: 50 }, inEngine: left - 1 });
    expect(throughput.tokensPerSecond).toBeCloseTo(50, 0);
  });
});
