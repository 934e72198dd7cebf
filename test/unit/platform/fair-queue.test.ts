import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue } from "../../../platform/fair-queue.ts";

/** Serves the owner that was served least, and returns it. */
function serve(queue: FairQueue, owners: Iterable<string>, amount: number): string {
  const owner = queue.least(owners)!;
  queue.charge(owner, amount);
  return owner;
}

describe("FairQueue, starvation", () => {
  const MOST_AMOUNT = 50;
  const MOST_WAITING = 6;
  const amount = fc.integer({ min: 1, max: MOST_AMOUNT });
  /** A service, whether the served owner leaves after it, and how many new owners join. */
  const turn = fc.record({ amount, leaves: fc.boolean(), joins: fc.nat({ max: MOST_WAITING }) });

  /** A queue with the owners that wait in it, after these rounds. */
  class Owners {
    readonly queue = new FairQueue();
    readonly waiting = new Set<string>();
    #names = 0;

    take({ amount, leaves, joins }: { amount: number; leaves: boolean; joins: number }): string {
      for (let i = 0; i < joins && this.waiting.size < MOST_WAITING; i++) this.join(`owner${this.#names++}`);
      if (this.waiting.size === 0) this.join(`owner${this.#names++}`);
      const served = serve(this.queue, this.waiting, amount);
      if (leaves) this.leave(served);
      return served;
    }

    join(owner: string): void {
      this.waiting.add(owner);
      this.queue.join(owner);
    }

    leave(owner: string): void {
      this.waiting.delete(owner);
      this.queue.leave(owner);
    }
  }

  it("serves a waiting owner after a bounded amount, beside any owners that join", () => {
    const history = fc.array(turn, { maxLength: 60 });
    // Owners that always leave are the hardest: new ones replace them in front of the owner that waits.
    const future = fc.oneof(fc.infiniteStream(turn), fc.infiniteStream(turn.map((one) => ({ ...one, leaves: true }))));
    fc.assert(
      fc.property(history, fc.nat({ max: 1000 }), future, (before, head, after) => {
        const owners = new Owners();
        for (const one of before) owners.take(one);
        owners.join("late");
        // An owner may also be far ahead, by what was served to it before.
        owners.queue.charge("late", head);
        const accounts = [...owners.waiting, "unknown"].map((owner) => owners.queue.served(owner));
        const lead = owners.queue.served("late") - Math.min(...accounts);
        // The virtual time passes its account within the first half; the others that wait then reach it within the second.
        const bound = 2 * (MOST_WAITING + 1) * (lead + MOST_AMOUNT);
        let others = 0;
        for (const one of after) {
          if (owners.take({ ...one, joins: MOST_WAITING }) === "late") return;
          others += one.amount;
          expect(others).toBeLessThanOrEqual(bound);
        }
      }),
    );
  });

  it("serves an old owner in about half of all rounds while a new owner joins with each", () => {
    const queue = new FairQueue();
    queue.set(new Set(["old", "other"]));
    queue.charge("old", 500);
    queue.leave("other");
    let longest = 0;
    let since = 0;
    let rounds = 0;
    for (let round = 0; round < 2000; round++) {
      const fresh = `new${round}`;
      queue.join(fresh);
      const served = serve(queue, ["old", fresh], 10);
      queue.leave(fresh);
      since = served === "old" ? 0 : since + 1;
      if (served === "old") rounds++;
      longest = Math.max(longest, since);
    }
    // It was ahead of the virtual time by 250, which advances by 10 / 2 owners with each round.
    expect(longest).toBeLessThanOrEqual(51);
    expect(rounds).toBeGreaterThan(900);
  });
});

describe("FairQueue, shares", () => {
  it("serves owners that always wait in equal parts beside owners that come and go", () => {
    const most = 50;
    const round = fc.record({ amount: fc.integer({ min: 1, max: most }), other: fc.nat({ max: 20 }) });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 300 }), (rounds) => {
        const queue = new FairQueue();
        const served = new Map(["a", "b", "c"].map((owner) => [owner, 0]));
        for (const owner of served.keys()) queue.join(owner);
        for (const { amount, other } of rounds) {
          const joining = `other${other}`;
          queue.join(joining);
          const owner = serve(queue, [...served.keys(), joining], amount);
          queue.leave(joining);
          if (owner !== joining) served.set(owner, served.get(owner)! + amount);
          expect(Math.max(...served.values()) - Math.min(...served.values())).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it("gives an owner no credit for its absence", () => {
    const queue = new FairQueue();
    queue.join("a");
    for (let i = 0; i < 100; i++) queue.charge("a", 10);
    queue.join("b");
    const order = Array.from({ length: 10 }, () => serve(queue, ["a", "b"], 10));
    expect(order.filter((owner) => owner === "b").length).toBeLessThanOrEqual(6);
  });

  it("orders items as serving them one by one would", () => {
    const items = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 10 });
    const heads = fc.array(fc.nat({ max: 100 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.tuple(items, items, items), heads, (lists, served) => {
        const queue = new FairQueue();
        const waiting = new Map(lists.map((costs, i) => [`o${i}`, costs.map((cost) => ({ owner: `o${i}`, cost }))]));
        for (const owner of waiting.keys()) queue.join(owner);
        served.forEach((amount, i) => void queue.charge(`o${i}`, amount));
        const order = [...queue.order(waiting, ({ cost }) => cost)];
        for (const item of order) {
          const owners = [...waiting].filter(([, left]) => left.length > 0).map(([owner]) => owner);
          expect(item.owner).toBe(queue.least(owners));
          expect(waiting.get(item.owner)!.shift()).toBe(item);
          queue.charge(item.owner, item.cost);
        }
        expect([...waiting.values()].flat()).toEqual([]);
      }),
    );
  });

  it("orders an item that has begun before all others", () => {
    const queue = new FairQueue();
    queue.set(new Set(["a", "b"]));
    queue.charge("b", 100);
    const waiting = new Map([
      ["a", ["a1", "a2"]],
      ["b", ["b1", "b2"]],
    ]);
    const order = queue.order(
      waiting,
      () => 10,
      (item) => item === "b1",
    );
    expect([...order]).toEqual(["b1", "a1", "a2", "b2"]);
  });
});

describe("FairQueue, accounts", () => {
  it("keeps the account of an owner that left ahead of the others", () => {
    const queue = new FairQueue();
    queue.set(new Set(["a", "b"]));
    queue.charge("a", 100);
    queue.set(new Set(["b"]));
    queue.set(new Set(["a", "b"]));
    expect(queue.least(["a", "b"])).toBe("b");
    expect(queue.served("a")).toBe(100);
  });

  it("counts an owner as waiting until its last item has left", () => {
    const queue = new FairQueue();
    queue.join("a");
    queue.join("a");
    queue.join("b");
    expect(queue.owners).toBe(2);
    queue.leave("a");
    expect(queue.owners).toBe(2);
    queue.leave("a");
    expect(queue.owners).toBe(1);
  });

  it("closes all accounts when no owner waits", () => {
    const queue = new FairQueue();
    queue.join("a");
    queue.charge("a", 100);
    queue.leave("a");
    queue.charge("a", 100);
    expect([queue.served("a"), queue.size]).toEqual([0, 0]);
  });

  it("keeps a bounded number of accounts while one owner always waits", () => {
    const queue = new FairQueue();
    queue.join("always");
    for (let i = 0; i < 10_000; i++) {
      queue.charge(`running${i}`, 10);
      expect(queue.size).toBeLessThanOrEqual(130);
    }
  });
});
