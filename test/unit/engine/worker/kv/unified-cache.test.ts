import { describe, expect, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import type { CachedSequence } from "../../../../../engine/worker/kv/cached-sequence.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import { DrivenCache, text } from "./driven-cache.ts";

describe("unified cache", () => {
  test("a shared prefix takes its cells once", () => {
    const driven = new DrivenCache("unified", 8, 400);
    for (let i = 0; i < 6; i++) driven.start([...text(1, 100), 5000 + i]);
    expect(driven.cache.used).toBe(106);
    expect(driven.memory.used).toBe(106);
  });

  test("a token attends over the cells that have tokens, not over reserved ones", () => {
    const driven = new DrivenCache("unified", 8, 400);
    driven.visit(text(1, 100));
    driven.start([...text(1, 80), 7]);
    const long = { id: -1, tokens: text(2, 120), computed: 0, scope: "" };
    expect(driven.cache.place(long, true)).toBe(true);
    expect(driven.cache.used).toBe(221);
    expect(driven.cache.attention()(long, 10, 0)).toBe(10 * (101 + 10));
    expect(driven.cache.attention()(long, 10, 5)).toBe(10 * (101 + 5 + 10));
  });

  test("shared cells of idle prefixes count once against their bound", () => {
    const driven = new DrivenCache("unified", 16, 400);
    const sequences = Array.from({ length: 6 }, (_, i) => driven.start([...text(1, 80), ...text(10 + i, 3)]));
    for (const started of sequences) started?.end();
    expect(driven.cache.used).toBe(80 + 6 * 3);
    for (let i = 0; i < 6; i++) {
      const tokens = [...text(1, 80), ...text(10 + i, 3), 4];
      expect(driven.cache.reusable({ id: -1, tokens, computed: 0, scope: "" }, true)).toBe(83);
    }
    driven.visit(text(2, 60));
    expect(driven.cache.used).toBeLessThanOrEqual(100);
  });

  test("when cells are short a new sequence takes over an idle prefix", () => {
    const driven = new DrivenCache("unified", 8, 400);
    driven.visit(text(1, 100));
    const started = driven.start([...text(1, 60), ...text(2, 330)]);
    expect(started?.cached).toBe(60);
    expect(driven.memory.used).toBe(390);
  });

  test("the bound holds for idle prefixes alone, beside any running sequence", () => {
    const driven = new DrivenCache("unified", 8, 400);
    driven.start(text(1, 200));
    driven.visit(text(2, 60));
    expect(driven.cache.reusable({ id: -1, tokens: [...text(2, 60), 5], computed: 0, scope: "" }, true)).toBe(60);
  });

  test("a start without enough cells beside its prefix waits, and the prefix stays", () => {
    const driven = new DrivenCache("unified", 8, 200);
    driven.start(text(1, 100));
    driven.visit(text(2, 50));
    const long = { id: -1, tokens: [...text(2, 45), ...text(3, 65)], computed: 0, scope: "" };
    expect(driven.cache.place(long, true)).toBe(false);
    expect(driven.cache.reusable(long, true)).toBe(45);
  });

  test("a single conversation continues at any share of the cells", () => {
    const driven = new DrivenCache("unified", 8, 200);
    driven.visit(text(1, 150));
    expect(driven.visit([...text(1, 150), 7, 8])).toBe(150);
    expect(driven.visit([...text(1, 150), 7, 8, 9])).toBe(152);
    expect(driven.visit(text(2, 190))).toBe(0);
  });

  test("a conversation keeps one idle prefix, that of its last turn", () => {
    const driven = new DrivenCache("unified", 4, 400);
    const branch = driven.start([...text(1, 40), 1, 2]);
    driven.visit([...text(1, 40), 3]);
    branch?.end();
    driven.visit([...text(1, 40), 1, 2, 3, 4]);
    expect(driven.cache.used).toBe(40 + 1 + 4);
  });

  test("without a free id the oldest idle prefix is evicted", () => {
    const driven = new DrivenCache("unified", 3, 400);
    for (const seed of [1, 2, 3]) driven.visit(text(seed, 20));
    expect(driven.start(text(4, 20))?.cached).toBe(0);
    expect(driven.cache.reusable({ id: -1, tokens: [...text(1, 20), 0], computed: 0, scope: "" }, true)).toBe(0);
    expect(driven.cache.reusable({ id: -1, tokens: [...text(2, 20), 0], computed: 0, scope: "" }, true)).toBe(20);
  });
});

test("a prefix in which any sequence may begin takes no id beside the one that continues it", () => {
  const driven = new DrivenCache("unified", 2, 400);
  driven.visit(text(2, 20));
  driven.visit(text(1, 20));
  const waiting = (last: number) => ({ id: -1, tokens: [...text(1, 20), last], computed: 0, scope: "" });
  driven.cache.prefixes.announce(waiting(7));
  driven.start([...text(1, 20), 8]);
  expect(driven.cache.reusable(waiting(7), true)).toBe(20);
  expect(driven.cache.reusable({ ...waiting(7), tokens: [...text(2, 20), 7] }, true)).toBe(20);
});

describe("two tiers in a unified cache", () => {
  test("lower tiers leave the reserved cells free, except their first sequence", () => {
    const driven = new DrivenCache("unified", 8, 400, 0, 100);
    const first = driven.start(text(1, 350), false);
    expect(first).not.toBeNull();
    first!.end();
    driven.start(text(2, 200), false);
    expect(driven.start(text(3, 100), false)).toBeNull();
    expect(driven.start(text(4, 80), false)).not.toBeNull();
    expect(driven.start(text(5, 80))).not.toBeNull();
  });

  test("fitsWithout predicts whether preemption would help", () => {
    const driven = new DrivenCache("unified", 8, 400);
    driven.start(text(1, 200));
    const lower = driven.start(text(2, 100), false);
    const waiting = (length: number) => ({ id: -1, tokens: text(3, length), computed: 0, scope: "" });
    expect(driven.cache.fitsWithout(waiting(180), [lower!.sequence])).toBe(true);
    expect(driven.cache.fitsWithout(waiting(190), [lower!.sequence])).toBe(false);
  });
});

test("a state saved without a shared beginning is restored beside it", () => {
  const driven = new DrivenCache("unified", 3, 400, 0, 0, 1000);
  const running = driven.start(text(1, 60));
  driven.visit([...text(1, 60), ...text(2, 30)]);
  driven.start(text(3, 20));
  driven.visit(text(4, 20));
  expect(driven.visit([...text(1, 60), ...text(2, 30), 5])).toBe(90);
  expect(driven.memory.loaded).toBe(30);
  running?.end();
});

describe("states that are reused as a whole", () => {
  function make(ids: number) {
    const memory = new FakeMemory({ kind: "unified", ids, cells: 400, reuse: "whole" });
    const host = hostMemory(1000, "whole");
    host.copies.allow({ online: Number.POSITIVE_INFINITY, lower: Number.POSITIVE_INFINITY });
    const cache = new UnifiedCache(memory, host, { ids, cells: 400, reserved: 0, reuse: "whole" });
    const compute = (sequence: CachedSequence, count: number) => {
      memory.decode([{ sequence, count }]);
      sequence.computed += count;
    };
    return { memory, cache, compute };
  }

  function prompt(...parts: number[][]): CachedSequence {
    return { id: -1, tokens: parts.flat(), computed: 0, scope: "" };
  }

  test("two sequences at the same checkpoint leave one idle prefix", () => {
    const { cache, compute } = make(6);
    const running = [prompt(text(1, 100), [1]), prompt(text(1, 100), [2])];
    for (const sequence of running) {
      cache.place(sequence, true);
      compute(sequence, 100);
    }
    cache.prefixes.announce(prompt(text(1, 100), [3]));
    for (const sequence of running) expect(cache.checkpoint(sequence, true)).toBe(true);
    expect(cache.idle.count).toBe(1);
  });

  test("a sequence waits when the cut of its prefix fails and others hold the cells of that too", () => {
    const { memory, cache, compute } = make(6);
    const first = prompt(text(1, 100), text(2, 100));
    const second = prompt(text(1, 100), [5]);
    cache.place(first, true);
    compute(first, 100);
    cache.prefixes.announce(second);
    cache.checkpoint(first, true);
    cache.place(second, true);
    cache.prefixes.withdraw(second);
    compute(first, 50);
    cache.prefixes.inPlace.take(first, true, false);
    compute(first, 50);
    cache.release(first, false);
    memory.loadPartial = () => false;
    const changed = prompt(text(1, 100), text(2, 50), text(3, 150));
    expect(cache.reusable(changed, true)).toBe(150);
    expect(cache.place(changed, true)).toBe(false);
    expect(cache.idle.count).toBe(1);
  });
});
