import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue } from "../../../platform/fair-queue.ts";

/** Serves the least-served of those that wait, and returns it. */
function serve(queue: FairQueue, owners: Iterable<string>, amount: number): string {
  const owner = queue.least(owners)!;
  queue.charge(owner, amount);
  return owner;
}

describe("FairQueue", () => {
  it("does not starve an owner while a new owner joins with every turn", () => {
    const queue = new FairQueue();
    queue.set(new Set(["old", "other"]));
    queue.charge("old", 500);
    queue.leave("other");
    let longest = 0;
    let since = 0;
    let turns = 0;
    for (let turn = 0; turn < 2000; turn++) {
      const fresh = `new${turn}`;
      queue.join(fresh);
      const served = serve(queue, ["old", fresh], 10);
      queue.leave(fresh);
      since = served === "old" ? 0 : since + 1;
      if (served === "old") turns++;
      longest = Math.max(longest, since);
    }
    // It was ahead of the clock by 250, which advances by 10 / 2 owners with each turn.
    expect(longest).toBeLessThanOrEqual(51);
    expect(turns).toBeGreaterThan(900);
  });

  it("serves owners that always wait in equal parts, whoever comes and goes beside them", () => {
    const most = 50;
    const turn = fc.record({ amount: fc.integer({ min: 1, max: most }), visitor: fc.nat({ max: 20 }) });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 300 }), (turns) => {
        const queue = new FairQueue();
        const served = new Map(["a", "b", "c"].map((owner) => [owner, 0]));
        for (const owner of served.keys()) queue.join(owner);
        for (const { amount, visitor } of turns) {
          const guest = `guest${visitor}`;
          queue.join(guest);
          const owner = serve(queue, [...served.keys(), guest], amount);
          queue.leave(guest);
          if (owner !== guest) served.set(owner, served.get(owner)! + amount);
          expect(Math.max(...served.values()) - Math.min(...served.values())).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it("earns an owner no credit for its absence", () => {
    const queue = new FairQueue();
    queue.join("a");
    for (let i = 0; i < 100; i++) queue.charge("a", 10);
    queue.join("b");
    const turns = Array.from({ length: 10 }, () => serve(queue, ["a", "b"], 10));
    expect(turns.filter((owner) => owner === "b").length).toBeLessThanOrEqual(6);
  });

  it("keeps the account of an owner that left ahead of the others", () => {
    const queue = new FairQueue();
    queue.set(new Set(["a", "b"]));
    queue.charge("a", 100);
    queue.set(new Set(["b"]));
    queue.set(new Set(["a", "b"]));
    expect(queue.least(["a", "b"])).toBe("b");
    expect(queue.served("a")).toBe(100);
  });

  it("closes all accounts when no owner waits", () => {
    const queue = new FairQueue();
    queue.join("a");
    queue.charge("a", 100);
    queue.leave("a");
    queue.charge("a", 100);
    expect(queue.served("a")).toBe(0);
  });
});
