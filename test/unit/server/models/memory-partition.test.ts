import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelNeeds } from "../../../../engine/protocol/config.ts";
import { MemoryPartition } from "../../../../server/models/memory-partition.ts";

const BUDGET = 700;

const needs = (least: number, wanted: number): ModelNeeds => ({ least, wanted, free: BUDGET });

function shares(models: ModelNeeds[], takeTurns = false, count = models.length): number[] {
  const book = new MemoryPartition(BUDGET, count, takeTurns);
  book.enter(models.map((each, i) => ({ id: `m${i}`, needs: each })));
  return models.map((_, i) => book.shareOf(`m${i}`)!);
}

describe("MemoryPartition", () => {
  test.each<[string, ModelNeeds[], number[]]>([
    ["equal, where all could use more", [needs(100, 900), needs(50, 900)], [350, 350]],
    ["no more than a model could use", [needs(100, 200), needs(50, 900)], [200, 350]],
    ["the needs of a large one, and the rest for the others", [needs(500, 900), needs(50, 900)], [500, 200]],
    ["just what is needed", [needs(300, 900), needs(400, 900)], [300, 400]],
  ])("are %s", (_, models, expected) => {
    expect(shares(models)).toEqual(expected);
  });

  test("reserves the shares of models that are not downloaded yet", () => {
    const book = new MemoryPartition(BUDGET, 2, false);
    book.enter([{ id: "here", needs: needs(100, 900) }]);
    expect(book.shareOf("here")).toBe(350);
    book.add("late", needs(100, 900));
    expect(book.shareOf("late")).toBe(350);
    const full = new MemoryPartition(BUDGET, 2, false);
    full.enter([{ id: "here", needs: needs(500, 900) }]);
    expect(() => full.add("late", needs(300, 900))).toThrow("'late' does not fit into memory beside");
  });

  test("refuses models that do not fit together, with the needs of each", () => {
    const big = needs(5 * 2 ** 30, 9 * 2 ** 30);
    const book = new MemoryPartition(7 * 2 ** 30, 2, false);
    const enter = () => book.enter(["a", "b"].map((id) => ({ id, needs: big })));
    expect(enter).toThrow("'a' 5.0 GiB, 'b' 5.0 GiB, and 7.0 GiB are available");
    expect(enter).toThrow("--keep-alive");
  });

  test("may exceed the budget in total with keep-alive, but not for one model", () => {
    expect(shares([needs(500, 900), needs(400, 900)], true)).toEqual([500, 400]);
    expect(shares([needs(100, 900), needs(690, 900)], true)).toEqual([350, 690]);
    expect(() => shares([needs(701, 900), needs(1, 1)], true)).toThrow("'m0' alone does not fit");
  });

  test("property: shares fit the budget, cover each need and exceed no maximum", () => {
    const model = fc
      .tuple(fc.integer({ min: 1, max: 400 }), fc.nat({ max: 900 }))
      .map(([least, more]) => needs(least, least + more));
    fc.assert(
      fc.property(fc.array(model, { minLength: 1, maxLength: 6 }), (models) => {
        fc.pre(models.reduce((sum, { least }) => sum + least, 0) <= BUDGET);
        const given = shares(models);
        expect(given.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(BUDGET);
        for (const [i, { least, wanted }] of models.entries()) {
          expect(given[i]).toBeGreaterThanOrEqual(least);
          expect(given[i]).toBeLessThanOrEqual(wanted);
        }
      }),
    );
  });
});
