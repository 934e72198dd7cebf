import fc from "fast-check";
import { expect, test } from "vitest";
import { commonPrefix, covers, longestPrefix, type Resident } from "../../../engine/worker/kv/resident.ts";

const tokens = fc.array(fc.nat({ max: 1 }), { maxLength: 12 });
const resident: fc.Arbitrary<Resident> = fc
  .tuple(tokens, fc.nat({ max: 12 }))
  .map(([all, computed]) => ({ id: 0, tokens: all, computed: Math.min(computed, all.length) }));

function naive(a: readonly number[], b: readonly number[]): number {
  const different = a.findIndex((token, i) => token !== b[i]);
  return different < 0 ? a.length : different;
}

test("commonPrefix is the first difference, at most the limit", () => {
  fc.assert(
    fc.property(tokens, tokens, fc.nat({ max: 14 }), (a, b, limit) => {
      expect(commonPrefix(a, b, limit)).toBe(Math.min(naive(a, b), limit));
    }),
  );
});

test("longestPrefix finds the first of the best among what is computed", () => {
  fc.assert(
    fc.property(tokens, fc.nat({ max: 14 }), fc.array(resident, { maxLength: 8 }), (prompt, limit, residents) => {
      const lengths = residents.map((r) => naive(prompt.slice(0, limit), r.tokens.slice(0, r.computed)));
      const best = Math.max(0, ...lengths);
      const found = longestPrefix(prompt, limit, residents);
      expect(found).toEqual({ resident: best === 0 ? null : residents[lengths.indexOf(best)], length: best });
      if (best > 0) expect(found.resident).toBe(residents[lengths.indexOf(best)]);
    }),
    { numRuns: 1000 },
  );
});

test("covers: what is computed of one begins with all that is computed of the other", () => {
  fc.assert(
    fc.property(resident, resident, (a, b) => {
      const whole = naive(b.tokens.slice(0, b.computed), a.tokens.slice(0, a.computed)) === b.computed;
      expect(covers(a, b)).toBe(whole);
    }),
    { numRuns: 1000 },
  );
});
