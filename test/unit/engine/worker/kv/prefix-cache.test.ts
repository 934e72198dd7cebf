import { describe, expect, test } from "vitest";
import { DrivenCache, text } from "./driven-cache.ts";

test.each(["split", "unified"] as const)(
  "%s: idle prefixes are what ended sequences left, and what runs is none",
  (kind) => {
    const driven = new DrivenCache(kind, 4, 200);
    expect(driven.cache.idle).toEqual({ count: 0, cells: 0 });
    driven.visit(text(1, 30));
    driven.visit(text(2, 15));
    expect(driven.cache.idle).toEqual({ count: 2, cells: 45 });
    const running = driven.start([...text(1, 30), 7]);
    expect(driven.cache.idle).toEqual({ count: 1, cells: 15 });
    running?.end();
    expect(driven.cache.idle).toEqual({ count: 2, cells: 46 });
  },
);

describe.each(["split", "unified"] as const)("evicted first in a %s cache", (kind) => {
  const waiting = (tokens: number[]) => ({ id: -1, tokens, computed: 0, scope: "" });
  const reusable = (driven: DrivenCache, seed: number) => driven.cache.reusable(waiting([...text(seed, 30), 5]), true);

  test("not the prefix of a sequence while that waits", () => {
    const driven = new DrivenCache(kind, 3, 2000);
    for (const seed of [1, 2, 3]) driven.visit(text(seed, 30));
    const next = waiting([...text(1, 30), 7]);
    driven.cache.prefixes.announce(next);
    driven.visit(text(4, 30));
    expect([1, 2].map((seed) => reusable(driven, seed))).toEqual([30, 0]);
    driven.cache.prefixes.withdraw(next);
    driven.visit(text(5, 30));
    expect(reusable(driven, 1)).toBe(0);
  });

  test("the prefixes of a batch without waiting lines", () => {
    const driven = new DrivenCache(kind, 4, 2000);
    for (const seed of [1, 2]) driven.visit(text(seed, 30));
    const line = waiting([...text(3, 30), 7]);
    driven.cache.prefixes.announce(line);
    for (const seed of [3, 4]) driven.start(text(seed, 30))!.end(true);
    driven.visit(text(5, 30));
    expect([1, 3, 4].map((seed) => reusable(driven, seed))).toEqual([30, 30, 0]);
    driven.cache.prefixes.withdraw(line);
    driven.visit(text(6, 30));
    expect([1, 3].map((seed) => reusable(driven, seed))).toEqual([30, 0]);
  });

  test("a prefix that other residents hold too", () => {
    const driven = new DrivenCache(kind, 3, 2000);
    for (const tail of [1, 2]) driven.visit([...text(1, 60), ...text(10 + tail, 30)]);
    driven.visit(text(2, 30));
    driven.cache.prefixes.announce(waiting([...text(1, 60), 7]));
    driven.visit(text(3, 30));
    const found = [waiting([...text(1, 60), 5]), waiting([...text(1, 60), ...text(11, 30), 5])];
    expect(found.map((sequence) => driven.cache.reusable(sequence, true))).toEqual([60, 60]);
  });

  test("of residents that share a beginning the least recently used", () => {
    const driven = new DrivenCache(kind, 2, 2000, 2);
    for (const seed of [1, 2, 3, 4, 5]) driven.visit([0, 0, 0, ...text(seed, 60)]);
    const found = [1, 2, 3].map((seed) => driven.cache.reusable(waiting([0, 0, 0, ...text(seed, 60), 5]), true));
    expect(found).toEqual([3, 3, 3]);
  });

  test("evicted prefixes are restored, except those of batches without waiting lines", () => {
    const driven = new DrivenCache(kind, 2, 2000, 8, 0, 1000);
    driven.visit(text(1, 60));
    driven.start(text(2, 60))!.end(true);
    for (const seed of [3, 4]) driven.visit(text(seed, 60));
    expect(driven.visit([...text(1, 60), 5])).toBe(60);
    expect(driven.visit([...text(2, 60), 5])).toBe(0);
    expect(driven.memory.loaded).toBe(60);
    const { evicted, offloaded, restored } = driven.cache.prefixes.takeEvents();
    expect([offloaded, restored]).toEqual([evicted - 1, 60]);
  });
});
