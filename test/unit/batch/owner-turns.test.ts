import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fairEnds } from "../../../batch/fair-ends.ts";
import { OwnerTurns } from "../../../batch/owner-turns.ts";
import { chatLine, jsonl } from "../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../server/fake-engine.ts";
import { nightRig } from "./night-rig.ts";

const member = (owner: string, name = owner) => ({ name, batch: { owner } });

describe("turns of owners", () => {
  it("go to whom the least was claimed for, of one owner in the order of deadlines", () => {
    const turns = new OwnerTurns();
    const due = [member("a", "a1"), member("b"), member("a", "a2")];
    const names = () => turns.order(due).map(({ name }) => name);
    expect(names()).toEqual(["a1", "a2", "b"]);
    turns.charge("a", 10);
    expect(names()).toEqual(["b", "a1", "a2"]);
    turns.charge("b", 30);
    expect(names()).toEqual(["a1", "a2", "b"]);
  });

  it("give nobody credit for having been away", () => {
    const turns = new OwnerTurns();
    for (let i = 0; i < 100; i++) {
      turns.order([member("a")]);
      turns.charge("a", 10);
    }
    const both = [member("a"), member("b")];
    const first = Array.from({ length: 10 }, () => {
      const { batch } = turns.order(both)[0]!;
      turns.charge(batch.owner, 10);
      return batch.owner;
    });
    expect(first.filter((owner) => owner === "b").length).toBeLessThanOrEqual(6);
  });

  it("are fair to within a turn among those who always have lines", () => {
    const most = 50;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: most }), { maxLength: 200 }), (claims) => {
        const turns = new OwnerTurns();
        const claimed = new Map([
          ["a", 0],
          ["b", 0],
          ["c", 0],
        ]);
        const due = [...claimed.keys()].map((owner) => member(owner));
        for (const tokens of claims) {
          const { owner } = turns.order(due)[0]!.batch;
          turns.charge(owner, tokens);
          claimed.set(owner, claimed.get(owner)! + tokens);
          expect(Math.max(...claimed.values()) - Math.min(...claimed.values())).toBeLessThanOrEqual(most);
        }
      }),
    );
  });
});

describe("ends under fair turns", () => {
  it("of one owner come one after the other", () => {
    const batches = [3, 5, 0, 2].map((remainingTokens) => ({ owner: "a", remainingTokens }));
    expect(fairEnds(batches)).toEqual([3, 8, 8, 10]);
  });

  it("hold nobody up by more than as much of every other owner's", () => {
    const batch = fc.record({
      owner: fc.constantFrom("a", "b", "c"),
      remainingTokens: fc.integer({ min: 0, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
        const ends = fairEnds(batches);
        const total = batches.reduce((sum, { remainingTokens }) => sum + remainingTokens, 0);
        expect(Math.max(0, ...ends)).toBe(total);
        for (const [index, { owner }] of batches.entries()) {
          const own = batches
            .slice(0, index + 1)
            .reduce((sum, each) => sum + (each.owner === owner ? each.remainingTokens : 0), 0);
          const others = new Map<string, number>();
          for (const each of batches) {
            if (each.owner === owner) continue;
            others.set(each.owner, (others.get(each.owner) ?? 0) + each.remainingTokens);
          }
          const most = [...others.values()].reduce((sum, tokens) => sum + Math.min(tokens, own), own);
          expect(ends[index]).toBe(most);
        }
      }),
    );
  });
});

it("an owner's small batch ends long before another's large one that came first", async () => {
  const engine = new FakeEngine();
  const held: (() => void)[] = [];
  engine.script = (request) => void held.push(() => saying("yes")(request));
  const rig = await nightRig(engine);
  const lines = (count: number) => jsonl(Array.from({ length: count }, (_, i) => chatLine(`l${i}`, `question ${i}`)));
  const large = await rig.submitAs("many", lines(400));
  await expect.poll(() => held.length, { timeout: 5000 }).toBeGreaterThan(0);
  const small = await rig.submitAs("few", lines(10));
  let answered = 0;
  await expect
    .poll(
      async () => {
        for (const answer of held.splice(0, 2)) {
          answer();
          answered++;
        }
        return (await rig.batches.get("few", small)).status;
      },
      { timeout: 15_000, interval: 5 },
    )
    .toBe("completed");
  const { request_counts } = await rig.batches.get("many", large);
  expect(request_counts!.completed).toBeLessThan(250);
  expect(answered).toBeLessThan(300);
});
