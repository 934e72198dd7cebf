import { describe, expect, test } from "vitest";
import { DrivenCache, text } from "./driven-cache.ts";

describe("split cache", () => {
  test("the conversations of one user continue at their ids without a copy", () => {
    const bench = new DrivenCache("split", 3, 200);
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

  test("a branch of a conversation does not move the conversation", () => {
    const bench = new DrivenCache("split", 3, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 30), 7, 8])).toBe(30);
    expect(bench.memory.copied).toBe(1);
    expect(bench.visit([...text(1, 50), 9])).toBe(50);
  });

  test("a prefix shorter than the copy price is not copied", () => {
    const bench = new DrivenCache("split", 3, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 8), ...text(2, 40)])).toBe(0);
    expect(bench.memory.copied).toBe(0);
  });

  test("a second sequence moves the first next to it", () => {
    const bench = new DrivenCache("split", 4, 200);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 30));
    const alone = bench.start([...text(3, 30), 7]);
    const other = bench.start([...text(1, 30), 7]);
    expect([alone?.cached, other?.cached]).toEqual([30, 30]);
    expect([alone?.sequence.id, other?.sequence.id].sort()).toEqual([0, 1]);
  });

  test("a prefix is restored although its usual id would have to be moved", () => {
    const bench = new DrivenCache("split", 3, 100, 8, 0, 1000);
    // Idle where a stream has its place next: too long for host memory, so it would be copied to another id.
    bench.visit(text(2, 40));
    const stream = bench.start(text(1, 20));
    bench.visit(text(3, 80));
    bench.visit(text(4, 80));
    expect(bench.cache.prefixes.host.used).toBeGreaterThan(0);
    const loads = bench.memory.loaded;
    expect(bench.visit([...text(2, 40), 7])).toBe(40);
    expect(bench.memory.loaded - loads).toBe(40);
    stream?.end();
  });

  test("with one id the next turn reuses the last without a copy", () => {
    const bench = new DrivenCache("split", 1, 200);
    bench.visit(text(1, 50));
    expect(bench.visit([...text(1, 50), 7])).toBe(50);
    expect(bench.memory.copied).toBe(0);
  });

  test("a prefix below the copy price is computed again", () => {
    const bench = new DrivenCache("split", 4, 200, 60);
    bench.start([...text(1, 60), 1]);
    expect(bench.visit([...text(1, 60), 2])).toBe(0);
    const far = new DrivenCache("split", 4, 200, 59);
    far.start([...text(1, 60), 1]);
    expect(far.visit([...text(1, 60), 2])).toBe(60);
  });

  test("idle prefixes are evicted least recently used first", () => {
    const bench = new DrivenCache("split", 3, 200);
    for (const seed of [1, 2, 3]) bench.visit(text(seed, 30));
    expect(bench.visit([...text(1, 30), 5])).toBe(30);
    const one = bench.start(text(4, 30));
    expect(bench.cache.reusable({ id: -1, tokens: [...text(2, 30), 5], computed: 0, scope: "" }, true)).toBe(0);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(3, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    expect(bench.cache.reusable({ id: -1, tokens: [...text(1, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    one?.end();
  });

  test("without a free id the next sequence must wait", () => {
    const bench = new DrivenCache("split", 2, 50);
    bench.start(text(1, 10));
    const second = bench.start(text(2, 10));
    expect(bench.start(text(3, 10))).toBeNull();
    second?.end();
    expect(bench.start(text(3, 10))).not.toBeNull();
  });
});

describe("two tiers in a split cache", () => {
  const idOf = (guest: { sequence: { id: number } } | null) => guest?.sequence.id;

  test("lower tiers leave the reserved ids, and move to close a gap only when they decode", () => {
    const bench = new DrivenCache("split", 6, 200, 8, 2);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([2, 3, 4]);
    const online = bench.start(text(4, 20));
    expect(idOf(online)).toBe(0);
    bench.memory.decode([]);
    expect(bench.memory.copied).toBe(0);

    bench.cache.settle([online!, ...lower].map((guest) => guest!.sequence));
    expect(lower.map(idOf).sort()).toEqual([1, 2, 3]);
    bench.memory.decode(lower.map((guest) => ({ sequence: guest!.sequence, count: 1 })));
    expect(bench.memory.copied).toBe(1);
  });

  test("a lower tier at an online sequence's id moves up with its computed tokens", () => {
    const bench = new DrivenCache("split", 4, 200, 8, 1);
    const lower = [1, 2].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([1, 2]);
    expect([5, 6].map((seed) => idOf(bench.start(text(seed, 20))))).toEqual([0, 1]);
    expect(lower.map(idOf)).toEqual([3, 2]);
    bench.memory.decode([{ sequence: lower[0]!.sequence, count: 0 }]);
    expect(bench.memory.copied).toBe(1);
  });

  test("a skipped sequence between decodes moves only beside online streams", () => {
    const bench = new DrivenCache("split", 6, 200, 8, 0);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    const riders = [lower[0]!.sequence, lower[2]!.sequence];
    bench.cache.settle(riders);
    expect(lower.map(idOf)).toEqual([0, 1, 2]);
    const online = bench.start(text(4, 20));
    expect(idOf(online)).toBe(0);
    bench.cache.settle([online!.sequence, ...riders]);
    expect(riders.map(({ id }) => id).sort()).toEqual([1, 2]);
    bench.memory.decode([]);
  });

  test("decodes of lower tiers alone move into an empty id between them", () => {
    const bench = new DrivenCache("split", 6, 200, 8, 0);
    const lower = [1, 2, 3, 4].map((seed) => bench.start(text(seed, 20), false));
    lower[1]!.end(true);
    bench.cache.settle([0, 2, 3].map((i) => lower[i]!.sequence));
    expect([0, 2, 3].map((i) => idOf(lower[i]!))).toEqual([0, 2, 1]);
    bench.memory.decode([]);
    expect(bench.memory.copied).toBe(1);
  });

  test("when all ids run an online sequence waits for one", () => {
    const bench = new DrivenCache("split", 3, 200, 8, 1);
    const lower = [1, 2, 3].map((seed) => bench.start(text(seed, 20), false));
    expect(lower.every((guest) => guest !== null)).toBe(true);
    expect(bench.start(text(4, 20))).toBeNull();
    lower[1]!.end();
    expect(idOf(bench.start(text(4, 20)))).toBe(0);
    expect(lower.map(idOf).filter((id) => id === 0)).toEqual([]);
  });
});
