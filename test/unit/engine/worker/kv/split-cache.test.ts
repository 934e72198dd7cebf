import { describe, expect, test } from "vitest";
import { DrivenCache, text } from "./driven-cache.ts";

describe("split cache", () => {
  test("the conversations of one user continue at their ids without a copy", () => {
    const driven = new DrivenCache("split", 3, 200);
    const turns = [1, 2, 3].map((seed) => text(seed, 50));
    for (const turn of turns) expect(driven.visit(turn)).toBe(0);
    for (const turn of [...turns, ...turns].map((tokens) => [...tokens, 7, 8]))
      expect(driven.visit(turn)).toBeGreaterThan(49);
    expect(driven.memory.copied).toBe(0);
    // Nothing is left but to give up the one used longest ago.
    expect(driven.visit(text(4, 50))).toBe(0);
    expect(driven.visit([...text(2, 50), 9])).toBe(50);
    expect(driven.memory.copied).toBe(0);
  });

  test("a branch of a conversation does not move the conversation", () => {
    const driven = new DrivenCache("split", 3, 200);
    driven.visit(text(1, 50));
    expect(driven.visit([...text(1, 30), 7, 8])).toBe(30);
    expect(driven.memory.copied).toBe(1);
    expect(driven.visit([...text(1, 50), 9])).toBe(50);
  });

  test("a prefix shorter than the copy price is not copied", () => {
    const driven = new DrivenCache("split", 3, 200);
    driven.visit(text(1, 50));
    expect(driven.visit([...text(1, 8), ...text(2, 40)])).toBe(0);
    expect(driven.memory.copied).toBe(0);
  });

  test("a second sequence moves the first next to it", () => {
    const driven = new DrivenCache("split", 4, 200);
    for (const seed of [1, 2, 3]) driven.visit(text(seed, 30));
    const alone = driven.start([...text(3, 30), 7]);
    const other = driven.start([...text(1, 30), 7]);
    expect([alone?.cached, other?.cached]).toEqual([30, 30]);
    expect([alone?.sequence.id, other?.sequence.id].sort()).toEqual([0, 1]);
  });

  test("a prefix is restored although its usual id would have to be moved", () => {
    const driven = new DrivenCache("split", 3, 100, 8, 0, 1000);
    // Idle where a stream has its place next: too long for host memory, so it would be copied to another id.
    driven.visit(text(2, 40));
    const stream = driven.start(text(1, 20));
    driven.visit(text(3, 80));
    driven.visit(text(4, 80));
    expect(driven.cache.prefixes.host.copies.used).toBeGreaterThan(0);
    const loads = driven.memory.loaded;
    expect(driven.visit([...text(2, 40), 7])).toBe(40);
    expect(driven.memory.loaded - loads).toBe(40);
    stream?.end();
  });

  test("with one id the next turn reuses the last without a copy", () => {
    const driven = new DrivenCache("split", 1, 200);
    driven.visit(text(1, 50));
    expect(driven.visit([...text(1, 50), 7])).toBe(50);
    expect(driven.memory.copied).toBe(0);
  });

  test("a prefix below the copy price is computed again", () => {
    const driven = new DrivenCache("split", 4, 200, 60);
    driven.start([...text(1, 60), 1]);
    expect(driven.visit([...text(1, 60), 2])).toBe(0);
    const far = new DrivenCache("split", 4, 200, 59);
    far.start([...text(1, 60), 1]);
    expect(far.visit([...text(1, 60), 2])).toBe(60);
  });

  test("idle prefixes are evicted least recently used first", () => {
    const driven = new DrivenCache("split", 3, 200);
    for (const seed of [1, 2, 3]) driven.visit(text(seed, 30));
    expect(driven.visit([...text(1, 30), 5])).toBe(30);
    const one = driven.start(text(4, 30));
    expect(driven.cache.reusable({ id: -1, tokens: [...text(2, 30), 5], computed: 0, scope: "" }, true)).toBe(0);
    expect(driven.cache.reusable({ id: -1, tokens: [...text(3, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    expect(driven.cache.reusable({ id: -1, tokens: [...text(1, 30), 5], computed: 0, scope: "" }, true)).toBe(30);
    one?.end();
  });

  test("without a free id the next sequence must wait", () => {
    const driven = new DrivenCache("split", 2, 50);
    driven.start(text(1, 10));
    const second = driven.start(text(2, 10));
    expect(driven.start(text(3, 10))).toBeNull();
    second?.end();
    expect(driven.start(text(3, 10))).not.toBeNull();
  });
});

describe("two tiers in a split cache", () => {
  const idOf = (started: { sequence: { id: number } } | null) => started?.sequence.id;

  test("lower tiers leave the reserved ids, and move to close a gap only when they decode", () => {
    const driven = new DrivenCache("split", 6, 200, 8, 2);
    const lower = [1, 2, 3].map((seed) => driven.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([2, 3, 4]);
    const online = driven.start(text(4, 20));
    expect(idOf(online)).toBe(0);
    driven.memory.decode([]);
    expect(driven.memory.copied).toBe(0);

    driven.cache.settle([online!, ...lower].map((started) => started!.sequence));
    expect(lower.map(idOf).sort()).toEqual([1, 2, 3]);
    driven.memory.decode(lower.map((started) => ({ sequence: started!.sequence, count: 1 })));
    expect(driven.memory.copied).toBe(1);
  });

  test("a lower tier at an online sequence's id moves up with its computed tokens", () => {
    const driven = new DrivenCache("split", 4, 200, 8, 1);
    const lower = [1, 2].map((seed) => driven.start(text(seed, 20), false));
    expect(lower.map(idOf)).toEqual([1, 2]);
    expect([5, 6].map((seed) => idOf(driven.start(text(seed, 20))))).toEqual([0, 1]);
    expect(lower.map(idOf)).toEqual([3, 2]);
    driven.memory.decode([{ sequence: lower[0]!.sequence, count: 0 }]);
    expect(driven.memory.copied).toBe(1);
  });

  test("a skipped sequence between decodes moves only beside online streams", () => {
    const driven = new DrivenCache("split", 6, 200, 8, 0);
    const lower = [1, 2, 3].map((seed) => driven.start(text(seed, 20), false));
    const lowerDecodes = [lower[0]!.sequence, lower[2]!.sequence];
    driven.cache.settle(lowerDecodes);
    expect(lower.map(idOf)).toEqual([0, 1, 2]);
    const online = driven.start(text(4, 20));
    expect(idOf(online)).toBe(0);
    driven.cache.settle([online!.sequence, ...lowerDecodes]);
    expect(lowerDecodes.map(({ id }) => id).sort()).toEqual([1, 2]);
    driven.memory.decode([]);
  });

  test("decodes of lower tiers alone move into an empty id between them", () => {
    const driven = new DrivenCache("split", 6, 200, 8, 0);
    const lower = [1, 2, 3, 4].map((seed) => driven.start(text(seed, 20), false));
    lower[1]!.end(true);
    driven.cache.settle([0, 2, 3].map((i) => lower[i]!.sequence));
    expect([0, 2, 3].map((i) => idOf(lower[i]!))).toEqual([0, 2, 1]);
    driven.memory.decode([]);
    expect(driven.memory.copied).toBe(1);
  });

  test("when all ids run an online sequence waits for one", () => {
    const driven = new DrivenCache("split", 3, 200, 8, 1);
    const lower = [1, 2, 3].map((seed) => driven.start(text(seed, 20), false));
    expect(lower.every((started) => started !== null)).toBe(true);
    expect(driven.start(text(4, 20))).toBeNull();
    lower[1]!.end();
    expect(idOf(driven.start(text(4, 20)))).toBe(0);
    expect(lower.map(idOf).filter((id) => id === 0)).toEqual([]);
  });
});
