import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fairCompletion } from "../../../../batch/shift/fair-completion.ts";

describe("ends of batches under fair queueing", () => {
  it("are one after the other for the batches of one owner", () => {
    const batches = [3, 5, 0, 2].map((remainingTokens) => ({ owner: "a", remainingTokens }));
    expect(fairCompletion(batches)).toEqual([3, 8, 8, 10]);
  });

  it("are delayed by every other owner by at most the owner's own tokens", () => {
    const batch = fc.record({
      owner: fc.constantFrom("a", "b", "c"),
      remainingTokens: fc.integer({ min: 0, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
        const ends = fairCompletion(batches);
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
