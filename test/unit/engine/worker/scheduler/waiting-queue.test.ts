import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import { COSTS } from "../../../../../bench/scheduler/simulation-setup.ts";
import { TIERS, type Tier } from "../../../../../engine/protocol/request.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { type Queued, WaitingQueue } from "../../../../../engine/worker/scheduler/waiting-queue.ts";

function waiting(owner: string, arrival: number, prompt: number, tier: Tier = "default"): Queued {
  return { owner, arrival, tier, tokens: new Array(prompt).fill(0), computed: 0 };
}

const sequences = fc
  .array(
    fc.record({
      owner: fc.constantFrom("a", "b", "c"),
      tier: fc.constantFrom(...TIERS),
      prompt: fc.integer({ min: 1, max: 50 }),
      starts: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((list) =>
    list.map(({ owner, tier, prompt, starts }, i) => ({ starts, sequence: waiting(owner, i, prompt, tier) })),
  );

function byTier(list: readonly Queued[]): Queued[] {
  return TIERS.flatMap((tier) => list.filter((one) => one.tier === tier));
}

describe("the order of admission", () => {
  test("keeps the order of tiers, and of each owner's arrivals", () => {
    fc.assert(
      fc.property(sequences, (list) => {
        const queue = new WaitingQueue<Queued>();
        for (const { sequence } of list) queue.add(sequence);
        for (const { sequence, starts } of list) if (starts) queue.start(sequence);
        const left = byTier(list.flatMap(({ sequence, starts }) => (starts ? [] : [sequence])));
        const ordered = [...queue.order()];
        expect(queue.sequences).toEqual(left);
        expect(ordered.map(({ tier }) => tier)).toEqual(left.map(({ tier }) => tier));
        for (const owner of ["a", "b", "c"]) {
          const own = (all: readonly Queued[]) => all.filter((one) => one.owner === owner);
          expect(own(ordered)).toEqual(own(left));
        }
      }),
    );
  });

  test("is the order of arrival for one owner", () => {
    fc.assert(
      fc.property(sequences, (list) => {
        const queue = new WaitingQueue<Queued>();
        const own = list.map(({ sequence }) => ({ ...sequence, owner: "a" }));
        for (const one of own) queue.add(one);
        expect([...queue.order()]).toEqual(byTier(own));
      }),
    );
  });

  test("puts the first batch sequence before flex where batch is overdue", () => {
    const queue = new WaitingQueue<Queued>();
    const tiers: Tier[] = ["batch", "flex", "batch", "default", "flex"];
    for (const [i, tier] of tiers.entries()) queue.add(waiting("a", i, 5, tier));
    expect(Array.from(queue.order(true), ({ arrival }) => arrival)).toEqual([3, 0, 1, 4, 2]);
    expect(Array.from(queue.order(), ({ arrival }) => arrival)).toEqual([3, 1, 4, 0, 2]);
  });

  test("gives owners that always wait equal tokens, at any lengths of prompts and answers", () => {
    const kind = fc.record({ prompt: fc.integer({ min: 1, max: 200 }), answer: fc.integer({ min: 1, max: 200 }) });
    fc.assert(
      fc.property(kind, kind, (a, b) => {
        const kinds = { a, b };
        const queue = new WaitingQueue<Queued>();
        const served = { a: 0, b: 0 };
        let arrivals = 0;
        const arrive = (owner: "a" | "b") => queue.add(waiting(owner, arrivals++, kinds[owner].prompt));
        for (const owner of ["a", "a", "b", "b"] as const) arrive(owner);
        for (let round = 0; round < 200; round++) {
          const [next] = [...queue.order()] as [Queued];
          const owner = next.owner === "a" ? "a" : "b";
          arrive(owner);
          queue.start(next);
          for (let i = 0; i < kinds[owner].answer; i++) queue.charge(next);
          served[owner] += kinds[owner].prompt + kinds[owner].answer;
        }
        const most = Math.max(a.prompt + a.answer, b.prompt + b.answer);
        expect(Math.abs(served.a - served.b)).toBeLessThanOrEqual(2 * most);
      }),
    );
  });

  test("reaches a waiting owner although a new owner joins with each start", () => {
    const queue = new WaitingQueue<Queued>();
    const first = waiting("greedy", 0, 2000);
    for (const one of [first, waiting("greedy", 1, 10), waiting("other", 2, 10)]) queue.add(one);
    queue.start(first);
    let starts = 0;
    for (; queue.sequences.some(({ owner }) => owner === "greedy"); starts++) {
      queue.add(waiting(`new-${starts}`, 3 + starts, 10));
      const [next] = [...queue.order()] as [Queued];
      queue.start(next);
      if (starts > 2000) throw new Error("The greedy owner starves.");
    }
    // Its account is 2,000 tokens past its share: new owners of 10 tokens precede it until the clock has passed it.
    expect(starts).toBeGreaterThan(100);
  });

  test("gives an owner no credit for its absence", () => {
    const queue = new WaitingQueue<Queued>();
    const busy = Array.from({ length: 20 }, (_, i) => waiting("busy", i, 100));
    for (const one of busy) queue.add(one);
    for (const one of busy.slice(0, 10)) queue.start(one);
    for (let i = 0; i < 10; i++) queue.add(waiting("late", 20 + i, 100));
    const owners = Array.from(queue.order(), ({ owner }) => owner);
    expect(owners.slice(0, 6).filter((owner) => owner === "late")).toHaveLength(3);
  });
});

describe("the scheduler", () => {
  class One implements Sequence {
    readonly tier = "default";
    readonly owner: string;
    readonly scope = "";
    readonly arrival: number;
    readonly tokens: number[];
    id = -1;
    computed = 0;
    state: Sequence["state"] = "waiting";

    constructor(owner: string, arrival: number) {
      this.owner = owner;
      this.arrival = arrival;
      this.tokens = [arrival, ...new Array(19).fill(1)];
    }
  }

  test("starts an owner's only request before the earlier queue of another owner", () => {
    const memory = new FakeMemory({ kind: "split", ids: 2, cells: 64 });
    const kv = { ids: 2, capacity: 64, copyPrice: 32, reserved: 0, reuse: "parts" as const };
    const cache = new SplitCache(memory, hostMemory(0), kv);
    const limits = { stepTokens: 64, ttftMs: 500, itlMs: 50, batchTax: 0.1, batchStepMs: null, mostStepMs: 1000 };
    const scheduler = new Scheduler<One>(cache, { ...limits, sequences: 2, reserved: 0, reuse: "parts" }, COSTS);
    for (let i = 0; i < 20; i++) scheduler.add(new One("many", i));
    const starts: string[] = [];
    for (let step = 0; step < 60; step++) {
      if (step === 4) scheduler.add(new One("one", 20));
      const { entries, started } = scheduler.schedule();
      for (const { owner } of started) starts.push(owner);
      for (const { sequence, count } of entries) {
        sequence.computed += count;
        if (remaining(sequence) > 0) continue;
        sequence.tokens.push(1);
        if (sequence.tokens.length === 25) scheduler.end(sequence);
      }
    }
    expect(starts.indexOf("one")).toBeGreaterThan(0);
    expect(starts.indexOf("one")).toBeLessThan(5);
  });
});
