import { describe, expect, test } from "vitest";
import type { KvCache } from "../../../engine/worker/kv/cache.ts";
import { SplitCache } from "../../../engine/worker/kv/split.ts";
import { UnifiedCache } from "../../../engine/worker/kv/unified.ts";
import { FakeMemory, hostMemory } from "./fake-memory.ts";

function text(seed: number, length: number): number[] {
  return Array.from({ length }, (_, i) => 1000 * seed + i);
}

/** A cache over a proving memory, driven by hand. */
class Bench {
  readonly memory: FakeMemory;
  readonly cache: KvCache;

  constructor(kind: "split" | "unified", ids: number, cells: number, copyPrice = 8, reserved = 0, parking = 0) {
    this.memory = new FakeMemory({ kind, ids, cells });
    const host = hostMemory(parking);
    host.allow({ online: Number.POSITIVE_INFINITY, lower: Number.POSITIVE_INFINITY });
    this.cache =
      kind === "split"
        ? new SplitCache(this.memory, host, { ids, capacity: cells, copyPrice, reserved, reuse: true })
        : new UnifiedCache(this.memory, host, { ids, cells, reserved, reuse: true });
  }

  /** Places and computes the whole prompt. @returns null when there is no place */
  start(tokens: number[], online = true) {
    const sequence = { id: -1, tokens, computed: 0, scope: "" };
    if (!this.cache.place(sequence, online)) return null;
    this.cache.settle([]);
    const cached = sequence.computed;
    const count = tokens.length - cached;
    expect(this.cache.extend(sequence, count)).toBe(true);
    this.memory.decode([{ sequence, count }]);
    sequence.computed += count;
    return { sequence, cached, end: (passing = false) => this.cache.release(sequence, passing) };
  }

  /** How many tokens a prompt finds, and ends at once. */
  visit(tokens: number[]): number | undefined {
    const guest = this.start(tokens);
    guest?.end();
    return guest?.cached;
  }
}

describe("split cache", () => {
  test("the conversations of one user go on where they lie, without a copy", () => {
    const bench = new Bench("split", 3, 200);
    const turns = [1, 2, 3].map((seed) => text(seed, 50));
    for (const turn of turns) expect(bench.visit(turn)).toBe(0);
    for (const turn of [...turns, ...turns].map((tokens) => [...tokens, 7, 8]))
      expect(bench.visit(turn)).toBeGreaterThan(49);
    expect(bench.memory.copied).toBe(0);
    // Nothing is left but to give up the one used longest ago.
    expect(bench.visit(text(4, 50))).toBe(0);
    expect(bench.visit([...text(2, 50), 9])).toBe(50);
    expect(bench.memory.copied).toBe(0);
  });

  test("a branch of a conversation leaves the conversation where it is", () => {
    const bench = new Bench("split", 3, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 30), 7, 8])).toBe(30);
    expect(bench.memory.copied).toBe(1);
    expect(bench.visit([...text(1, 50), 9])).toBe(50);
  });

  test("a prefix shorter than a copy is worth moves nothing", () => {
    const bench = new Bench("split", 3, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 8), ...text(2, 40)])).toBe(0);
    expect(bench.memory.copied).toBe(0);
  });

  test("a second sequence brings the one that ran alone next to it", () => {
    const bench = new Bench("split", 4, 200);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 30));
    const alone = bench.start([...text(3, 30), 7]);
    const other = bench.start([...text(1, 30), 7]);
    expect([alone?.cached, other?.cached]).toEqual([30, 30]);
    expect([alone?.sequence.id, other?.sequence.id].sort()).toEqual([0, 1]);
  });

  test("one id: the next turn takes the place of the last without a copy", () => {
    const bench = new Bench("split", 1, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 50), 7])).toBe(50);
    expect(bench.memory.copied).toBe(0);
  });

  test("a prefix below the price of a copy is computed again", () => {
    const bench = new Bench("split", 4, 200, 60);
    bench.start([...text(1, 60), 1]);
    expect(bench.visit([...text(1, 60), 2])).toBe(0);
    const far = new Bench("split", 4, 200, 59);
    far.start([...text(1, 60), 1]);
    expect(far.visit([...text(1, 60), 2])).toBe(60);
  });

  test("idle prefixes give way to running sequences, least recently used first", () => {
    const bench = new Bench("split", 3, 200);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 30));
    expect(bench.visit([...text(1, 30), 5])).toBe(30);
    const one = bench.start(text(4, 30));
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 30), 5], computed: 0, scope: "" }, true)).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(3, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(1, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    one?.end();
  });

  test("no id is left: the next must wait", () => {
    const bench = new Bench("split", 2, 50);
    bench.start(text(1, 10));
    const second = bench.start(text(2, 10));
    expect(bench.start(text(3, 10))).toBeNull();
    second?.end();
    expect(bench.start(text(3, 10))).not.toBeNull();
  });
});

describe("two tiers in a split cache", () => {
  const idOf = (guest: { sequence: { id: number } } | null) => guest?.sequence.id;

  test("lower tiers leave the reserved ids: an online start moves nobody, and a gap is closed only when they ride", () => {
    const bench = new Bench("split", 6, 200, 8, 2);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([2, 3, 4]);
    const online = bench.start(text(4, 20));
    expect(idOf(online)).toBe(0);
    bench.memory.decode([]);
    expect(bench.memory.copied).toBe(0);

    bench.cache.settle(lower.map((guest) => guest!.sequence));
    expect(lower.map(idOf).sort()).toEqual([1, 2, 3]);
    bench.memory.decode(lower.map((guest) => ({ sequence: guest!.sequence, count: 1 })));
    expect(bench.memory.copied).toBe(1);
  });

  test("a lower tier in the way of an online start moves up, with all it has computed", () => {
    const bench = new Bench("split", 4, 200, 8, 1);
    const lower = [1, 2].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([1, 2]);
    expect([5, 6].map((seed) => idOf(bench.start(text(seed, 20))))).toEqual([0, 1]);
    expect(lower.map(idOf)).toEqual([3, 2]);
    bench.memory.decode([{ sequence: lower[0]!.sequence, count: 0 }]);
    expect(bench.memory.copied).toBe(1);
  });

  test("a parked sequence between those that decode makes place, as long as there is any", () => {
    const bench = new Bench("split", 4, 200, 8, 0);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    const riders = [lower[0]!.sequence, lower[2]!.sequence];
    bench.cache.settle(riders);
    expect(riders.map(({ id }) => id)).toEqual([0, 1]);
    expect(idOf(lower[1]!)).toBe(3);
    bench.memory.decode(lower.map((guest) => ({ sequence: guest!.sequence, count: 0 })));
  });

  test("all ids run: an online start has no place until one is given back", () => {
    const bench = new Bench("split", 3, 200, 8, 1);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.every((guest) => guest !== null)).toBe(true);
    expect(bench.start(text(4, 20))).toBeNull();
    lower[1]!.end();
    expect(idOf(bench.start(text(4, 20)))).toBe(0);
    expect(lower.map(idOf).filter((id) => id === 0)).toEqual([]);
  });
});

describe("two tiers in a unified cache", () => {
  test("lower tiers leave the reserved cells free, but the first of them may use all", () => {
    const bench = new Bench("unified", 8, 400, 0, 100);
    const first = bench.start(text(1, 350), false);
    expect(first).not.toBeNull();
    first!.end();
    bench.start(text(2, 200), false);
    expect(bench.start(text(3, 100), false)).toBeNull();
    expect(bench.start(text(4, 80), false)).not.toBeNull();
    expect(bench.start(text(5, 80))).not.toBeNull();
  });

  test("whether giving cells back would help is known before anyone gives any", () => {
    const bench = new Bench("unified", 8, 400);
    bench.start(text(1, 200));
    const lower = bench.start(text(2, 100), false);
    const waiting = (length: number) => ({ id: -1, tokens: text(3, length), computed: 0, scope: "" });
    expect(bench.cache.fitsWithout(waiting(180), [lower!.sequence])).toBe(true);
    expect(bench.cache.fitsWithout(waiting(190), [lower!.sequence])).toBe(false);
  });
});

describe("unified cache", () => {
  test("a shared prefix takes its cells once", () => {
    const bench = new Bench("unified", 8, 400);
    for (let i = 0; i < 6; i++) bench.start([...text(1, 100), 5000 + i]);
    expect(bench.cache.used).toBe(106);
    expect(bench.memory.used).toBe(106);
  });

  test("idle prefixes that share cells count once against their bound of a quarter", () => {
    const bench = new Bench("unified", 16, 400);
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

  test("where room is short a new sequence takes an idle one over and keeps what they share", () => {
    const bench = new Bench("unified", 8, 400);
    bench.visit(text(1, 100));
    const guest = bench.start([...text(1, 60), ...text(2, 330)]);
    expect(guest?.cached).toBe(60);
    expect(bench.memory.used).toBe(390);
  });

  test("the bound is for idle prefixes alone, however much runs", () => {
    const bench = new Bench("unified", 8, 400);
    bench.start(text(1, 200));
    bench.visit(text(2, 60));
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 60), 5], computed: 0, scope: "" }, true)).toBe(60);
  });

  test("a start that needs more than its prefix leaves must wait, and the prefix stays", () => {
    const bench = new Bench("unified", 8, 200);
    bench.start(text(1, 100));
    bench.visit(text(2, 50));
    const long = { id: -1, tokens: [...text(2, 45), ...text(3, 65)], computed: 0, scope: "" };
    expect(bench.cache.place(long, true)).toBe(false);
    expect(bench.cache.reusable(long, true)).toBe(45);
  });

  test("one conversation goes on however much of the cells it takes", () => {
    const bench = new Bench("unified", 8, 200);
    bench.visit(text(1, 150));
    expect(bench.visit([...text(1, 150), 7, 8])).toBe(150);
    expect(bench.visit([...text(1, 150), 7, 8, 9])).toBe(152);
    expect(bench.visit(text(2, 190))).toBe(0);
  });

  test("an ended turn covers the one it went on from: one idle prefix stays of a conversation", () => {
    const bench = new Bench("unified", 4, 400);
    const branch = bench.start([...text(1, 40), 1, 2]);
    bench.visit([...text(1, 40), 3]);
    branch?.end();
    bench.visit([...text(1, 40), 1, 2, 3, 4]);
    expect(bench.cache.used).toBe(40 + 1 + 4);
  });

  test("ids run out before cells: the oldest idle prefix gives its id", () => {
    const bench = new Bench("unified", 3, 400);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 20));
    expect(bench.start(text(4, 20))?.cached).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(1, 20), 0], computed: 0, scope: "" }, true)).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 20), 0], computed: 0, scope: "" }, true)).toBe(20);
  });
});

test.each(["split", "unified"] as const)(
  "%s: prefixes are what ended sequences left, and what runs is none",
  (kind) => {
    const bench = new Bench(kind, 4, 200);
    expect(bench.cache.prefixes).toEqual({ count: 0, cells: 0 });
    bench.visit(text(1, 30));
    bench.visit(text(2, 15));
    expect(bench.cache.prefixes).toEqual({ count: 2, cells: 45 });
    const running = bench.start([...text(1, 30), 7]);
    expect(bench.cache.prefixes).toEqual({ count: 1, cells: 15 });
    running?.end();
    expect(bench.cache.prefixes).toEqual({ count: 2, cells: 46 });
  },
);

describe.each(["split", "unified"] as const)("what gives way first in a %s cache", (kind) => {
  const waiting = (tokens: number[]) => ({ id: -1, tokens, computed: 0, scope: "" });
  const reusable = (bench: Bench, seed: number) => bench.cache.reusable(waiting([...text(seed, 30), 5]), true);

  test("not what a waiting sequence begins with, as long as it waits", () => {
    const bench = new Bench(kind, 3, 2000);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 30));
    const next = waiting([...text(1, 30), 7]);
    bench.cache.announce(next);
    bench.visit(text(4, 30));
    expect([1, 2].map((seed) => reusable(bench, seed))).toEqual([30, 0]);
    bench.cache.withdraw(next);
    bench.visit(text(5, 30));
    expect(reusable(bench, 1)).toBe(0);
  });

  test("what a batch has left, once none of its lines waits any more", () => {
    const bench = new Bench(kind, 4, 2000);
    for (const seed of [1, 2]) bench.visit(text(seed, 30));
    const line = waiting([...text(3, 30), 7]);
    bench.cache.announce(line);
    for (const seed of [3, 4]) bench.start(text(seed, 30))!.end(true);
    bench.visit(text(5, 30));
    expect([1, 3, 4].map((seed) => reusable(bench, seed))).toEqual([30, 30, 0]);
    bench.cache.withdraw(line);
    bench.visit(text(6, 30));
    expect([1, 3].map((seed) => reusable(bench, seed))).toEqual([30, 0]);
  });

  test("what all others hold too is not kept for anyone", () => {
    const bench = new Bench(kind, 3, 2000);
    for (const tail of [1, 2]) bench.visit([...text(1, 60), ...text(10 + tail, 30)]);
    bench.visit(text(2, 30));
    bench.cache.announce(waiting([...text(1, 60), 7]));
    bench.visit(text(3, 30));
    const found = [waiting([...text(1, 60), 5]), waiting([...text(1, 60), ...text(11, 30), 5])];
    expect(found.map((sequence) => bench.cache.reusable(sequence, true))).toEqual([60, 60]);
  });

  test("a beginning that all share keeps none of them: the least recently used goes", () => {
    const bench = new Bench(kind, 2, 2000, 2);
    for (const seed of [1, 2, 3, 4, 5]) bench.visit([0, 0, 0, ...text(seed, 60)]);
    const found = [1, 2, 3].map((seed) => bench.cache.reusable(waiting([0, 0, 0, ...text(seed, 60), 5]), true));
    expect(found).toEqual([3, 3, 3]);
  });

  test("it comes back from host memory; but not what a batch has left that nobody waits for", () => {
    const bench = new Bench(kind, 2, 2000, 8, 0, 1000);
    bench.visit(text(1, 60));
    bench.start(text(2, 60))!.end(true);
    for (const seed of [3, 4]) bench.visit(text(seed, 60));
    expect(bench.visit([...text(1, 60), 5])).toBe(60);
    expect(bench.visit([...text(2, 60), 5])).toBe(0);
    expect(bench.memory.loaded).toBe(60);
    const { evicted, parked, resumed } = bench.cache.takeEvents();
    expect([parked, resumed]).toEqual([evicted - 1, 60]);
  });
});

test("a state that was saved without a shared beginning comes back beside it", () => {
  const bench = new Bench("unified", 3, 400, 0, 0, 1000);
  const running = bench.start(text(1, 60));
  bench.visit([...text(1, 60), ...text(2, 30)]);
  bench.start(text(3, 20));
  bench.visit(text(4, 20));
  expect(bench.visit([...text(1, 60), ...text(2, 30), 5])).toBe(90);
  expect(bench.memory.loaded).toBe(30);
  running?.end();
});
