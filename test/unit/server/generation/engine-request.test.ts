import fc from "fast-check";
import { expect, it } from "vitest";
import { foldSeed, tierOf } from "../../../../server/generation/engine-request.ts";

it("a seed plus any choice stays below llama.cpp's random seed", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), (seed) => {
      const folded = foldSeed(Number(seed));
      expect(Number.isInteger(folded)).toBe(true);
      expect(folded).toBeGreaterThanOrEqual(0);
      expect(folded + 127).toBeLessThan(0xffffffff);
    }),
  );
  expect([0, 1, 42].map(foldSeed)).toEqual([0, 1, 42]);
  expect(foldSeed(-1)).not.toBe(foldSeed(1));
});

it.each([
  [undefined, "default"],
  ["auto", "default"],
  ["default", "default"],
  ["scale", "default"],
  ["priority", "priority"],
  ["fast", "priority"],
  ["flex", "flex"],
] as const)("service_tier %s is served as %s", (asked, tier) => {
  expect(tierOf(asked)).toBe(tier);
});
