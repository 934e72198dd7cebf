import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fairEnds } from "../../../batch/fair-ends.ts";
import { chatLine, jsonl } from "../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../server/fake-engine.ts";
import { nightRig } from "./night-rig.ts";

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
