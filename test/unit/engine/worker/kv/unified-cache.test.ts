import { describe, expect, test } from "vitest";
import { DrivenCache, text } from "./driven-cache.ts";

describe("unified cache", () => {
  test("a shared prefix takes its cells once", () => {
    const bench = new DrivenCache("unified", 8, 400);
    for (let i = 0; i < 6; i++) bench.start([...text(1, 100), 5000 + i]);
    expect(bench.cache.used).toBe(106);
    expect(bench.memory.used).toBe(106);
  });

  test("shared cells of idle prefixes count once against their bound", () => {
    const bench = new DrivenCache("unified", 16, 400);
    const guests = Array.from({ length: 6 }, (_, i) => bench.start([...text(1, 80), ...text(10 + i, 3)]));
    for (const guest of guests) guest?.end();
    expect(bench.cache.used).toBe(80 + 6 * 3);
    for (let i = 0; i < 6; i++) {
      const tokens = [...text(1, 80), ...text(10 + i, 3), 4];
      expect(bench.cache.reusable({ id: -1, tokens, computed: 0, scope: "" }, true)).toBe(83);
    }
    bench.visit(text(2, 60));
    expect(bench.cache.used).toBeLessThanOrEqual(100);
  });

  test("when cells are short a new sequence takes over an idle prefix", () => {
    const bench = new DrivenCache("unified", 8, 400);
    bench.visit(text(1, 100));
    const guest = bench.start([...text(1, 60), ...text(2, 330)]);
    expect(guest?.cached).toBe(60);
    expect(bench.memory.used).toBe(390);
  });

  test("the bound holds for idle prefixes alone, whatever runs", () => {
    const bench = new DrivenCache("unified", 8, 400);
    bench.start(text(1, 200));
    bench.visit(text(2, 60));
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 60), 5], computed: 0, scope: "" }, true)).toBe(60);
  });

  test("a start without enough cells beside its prefix waits, and the prefix stays", () => {
    const bench = new DrivenCache("unified", 8, 200);
    bench.start(text(1, 100));
    bench.visit(text(2, 50));
    const long = { id: -1, tokens: [...text(2, 45), ...text(3, 65)], computed: 0, scope: "" };
    expect(bench.cache.place(long, true)).toBe(false);
    expect(bench.cache.reusable(long, true)).toBe(45);
  });

  test("a single conversation continues whatever its share of the cells", () => {
    const bench = new DrivenCache("unified", 8, 200);
    bench.visit(text(1, 150));
    expect(bench.visit([...text(1, 150), 7, 8])).toBe(150);
    expect(bench.visit([...text(1, 150), 7, 8, 9])).toBe(152);
    expect(bench.visit(text(2, 190))).toBe(0);
  });

  test("a conversation keeps one idle prefix, that of its last turn", () => {
    const bench = new DrivenCache("unified", 4, 400);
    const branch = bench.start([...text(1, 40), 1, 2]);
    bench.visit([...text(1, 40), 3]);
    branch?.end();
    bench.visit([...text(1, 40), 1, 2, 3, 4]);
    expect(bench.cache.used).toBe(40 + 1 + 4);
  });

  test("without a free id the oldest idle prefix is evicted", () => {
    const bench = new DrivenCache("unified", 3, 400);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 20));
    expect(bench.start(text(4, 20))?.cached).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(1, 20), 0], computed: 0, scope: "" }, true)).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 20), 0], computed: 0, scope: "" }, true)).toBe(20);
  });
});

describe("two tiers in a unified cache", () => {
  test("lower tiers leave the reserved cells free, except their first sequence", () => {
    const bench = new DrivenCache("unified", 8, 400, 0, 100);
    const first = bench.start(text(1, 350), false);
    expect(first).not.toBeNull();
    first!.end();
    bench.start(text(2, 200), false);
    expect(bench.start(text(3, 100), false)).toBeNull();
    expect(bench.start(text(4, 80), false)).not.toBeNull();
    expect(bench.start(text(5, 80))).not.toBeNull();
  });

  test("fitsWithout predicts whether preemption would help", () => {
    const bench = new DrivenCache("unified", 8, 400);
    bench.start(text(1, 200));
    const lower = bench.start(text(2, 100), false);
    const waiting = (length: number) => ({ id: -1, tokens: text(3, length), computed: 0, scope: "" });
    expect(bench.cache.fitsWithout(waiting(180), [lower!.sequence])).toBe(true);
    expect(bench.cache.fitsWithout(waiting(190), [lower!.sequence])).toBe(false);
  });
});

test("a state saved without a shared beginning is restored beside it", () => {
  const bench = new DrivenCache("unified", 3, 400, 0, 0, 1000);
  const running = bench.start(text(1, 60));
  bench.visit([...text(1, 60), ...text(2, 30)]);
  bench.start(text(3, 20));
  bench.visit(text(4, 20));
  expect(bench.visit([...text(1, 60), ...text(2, 30), 5])).toBe(90);
  expect(bench.memory.loaded).toBe(30);
  running?.end();
});
