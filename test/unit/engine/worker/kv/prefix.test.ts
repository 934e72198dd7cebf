import fc from "fast-check";
import { expect, test } from "vitest";
import { commonPrefix } from "../../../../../engine/worker/kv/cached-sequence.ts";

const tokens = fc.array(fc.nat({ max: 1 }), { maxLength: 12 });

test("commonPrefix ends at the first difference or the limit", () => {
  fc.assert(
    fc.property(tokens, tokens, fc.nat({ max: 14 }), (a, b, limit) => {
      const different = a.findIndex((token, i) => token !== b[i]);
      expect(commonPrefix(a, b, limit)).toBe(Math.min(different < 0 ? a.length : different, limit));
    }),
  );
});
