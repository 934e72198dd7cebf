import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import { COSTS } from "../../../../../bench/scheduler/simulation.ts";
import { TIERS, type Tier } from "../../../../../engine/protocol/request.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { type Queued, TierQueues } from "../../../../../engine/worker/scheduler/waiting-queue.ts";

interface Guest extends Queued {
  arrival: number;
}

function guest(owner: string, arrival: number, prompt: number, tier: Tier = "default"): Guest {
  return { owner, arrival, tier, tokens: new Array(prompt).fill(0), computed: 0 };
}

const guests = fc
  .array(
    fc.record({
      owner: fc.constantFrom("a", "b", "c"),
      tier: fc.constantFrom(...TIERS),
      prompt: fc.integer({ min: 1, max: 50 }),
      served: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((list) => list.map(({ owner, tier, prompt, served }, i) => ({ served, guest: guest(owner, i, prompt, tier) })));

function byTier(list: Guest[]): Guest[] {
  return TIERS.flatMap((tier) => list.filter((one) => one.tier === tier));
}

describe("turns", () => {
  test("are a permutation that keeps tiers, and each owner's order of arrival, whatever was served before", () => {
    fc.assert(
      fc.property(guests, (list) => {
        const turns = new TierQueues<Guest>();
        for (const { guest } of list) turns.join(guest);
        for (const { guest, served } of list) if (served) turns.start(guest);
        const waiting = byTier(list.flatMap(({ guest, served }) => (served ? [] : [guest])));
        const ordered = [...turns.order(waiting)];
        expect(ordered.map(({ tier }) => tier)).toEqual(waiting.map(({ tier }) => tier));
        for (const owner of ["a", "b", "c"]) {
          const own = (of: Guest[]) => of.filter((one) => one.owner === owner);
          expect(own(ordered)).toEqual(own(waiting));
        }
      }),
    );
  });

  test("of one owner are the order of arrival", () => {
    fc.assert(
      fc.property(guests, (list) => {
        const turns = new TierQueues<Guest>();
        const alone = byTier(list.map(({ guest }) => ({ ...guest, owner: "a" })));
        for (const one of alone) turns.join(one);
        expect([...turns.order(alone)]).toEqual(alone);
      }),
    );
  });

  test("give owners that always wait equal tokens, however long their prompts and answers are", () => {
    const kind = fc.record({ prompt: fc.integer({ min: 1, max: 200 }), answer: fc.integer({ min: 1, max: 200 }) });
    fc.assert(
      fc.property(kind, kind, (a, b) => {
        const kinds = { a, b };
        const turns = new TierQueues<Guest>();
        const served = { a: 0, b: 0 };
        let arrivals = 0;
        const arrive = (owner: "a" | "b") => {
          const one = guest(owner, arrivals++, kinds[owner].prompt);
          turns.join(one);
          return one;
        };
        let waiting = [arrive("a"), arrive("a"), arrive("b"), arrive("b")];
        for (let round = 0; round < 200; round++) {
          const [next] = [...turns.order(waiting)] as [Guest];
          const owner = next.owner === "a" ? "a" : "b";
          waiting = [...waiting.filter((one) => one !== next), arrive(owner)];
          turns.start(next);
          for (let i = 0; i < kinds[owner].answer; i++) turns.charge(next);
          served[owner] += kinds[owner].prompt + kinds[owner].answer;
        }
        const most = Math.max(a.prompt + a.answer, b.prompt + b.answer);
        expect(Math.abs(served.a - served.b)).toBeLessThanOrEqual(2 * most);
      }),
    );
  });

  test("come to whoever waits, even when with each start a new owner joins who was never served", () => {
    const turns = new TierQueues<Guest>();
    const queue = [guest("greedy", 0, 2000), guest("greedy", 1, 10), guest("other", 2, 10)];
    for (const one of queue) turns.join(one);
    turns.start(queue.shift()!);
    let starts = 0;
    for (; queue.some(({ owner }) => owner === "greedy"); starts++) {
      const newcomer = guest(`new-${starts}`, 3 + starts, 10);
      turns.join(newcomer);
      queue.push(newcomer);
      const [next] = [...turns.order(queue)] as [Guest];
      turns.start(next);
      queue.splice(queue.indexOf(next), 1);
      if (starts > 2000) throw new Error("The greedy owner starves");
    }
    // It had 2,000 tokens more than its share, and goes behind 10 tokens of each newcomer until the clock is there.
    expect(starts).toBeGreaterThan(100);
  });

  it("earn nobody credit for being away", () => {
    const turns = new TierQueues<Guest>();
    const busy = Array.from({ length: 20 }, (_, i) => guest("busy", i, 100));
    for (const one of busy) turns.join(one);
    for (let i = 0; i < 10; i++) turns.start(busy.shift()!);
    const late = Array.from({ length: 10 }, (_, i) => guest("late", 20 + i, 100));
    for (const one of late) turns.join(one);
    const owners = [...turns.order([...busy, ...late])].map(({ owner }) => owner);
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

  it("lets an owner's one request in before the queue of another that came first", () => {
    const memory = new FakeMemory({ kind: "split", ids: 2, cells: 64 });
    const kv = { ids: 2, capacity: 64, copyPrice: 32, reserved: 0, reuse: true };
    const cache = new SplitCache(memory, hostMemory(0), kv);
    const limits = { stepTokens: 64, ttftMs: 500, itlMs: 50, batchTax: 0.1, batchStepMs: null, mostStepMs: 1000 };
    const scheduler = new Scheduler<One>(cache, { ...limits, sequences: 2, reserved: 0, reuse: true }, COSTS);
    for (let i = 0; i < 20; i++) scheduler.add(new One("many", i));
    const starts: string[] = [];
    for (let step = 0; step < 60; step++) {
      if (step === 4) scheduler.add(new One("one", 20));
      const { entries, started } = scheduler.next();
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
