import fc from "fast-check";
import { expect, test } from "vitest";
import { topLogits } from "../../../../../../engine/worker/native/sampling/log-softmax.ts";

function naive(row: readonly number[], count: number) {
  const order = row.map((logit, token) => ({ logit, token })).sort((a, b) => b.logit - a.logit || a.token - b.token);
  const most = order[0]!.logit;
  const logSum = most + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  const best = order.slice(0, count);
  return { tokens: best.map(({ token }) => token), logits: best.map(({ logit }) => logit), logSum };
}

test("the best and the sum equal those of sorting and adding up, for any row", () => {
  // Few values, so that there are ties, with the −Infinity of masked tokens.
  const logit = fc.oneof(
    fc.constantFrom(0, -1, 1, 2.5, -60, Number.NEGATIVE_INFINITY),
    fc.float({ min: -100, max: 100, noNaN: true }),
  );
  const rows = fc.array(logit, { minLength: 1, maxLength: 60 }).filter((row) => row.some(Number.isFinite));
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 20 }), (values, count) => {
      const row = Float32Array.from(values);
      const [found, expected] = [topLogits(row, count), naive([...row], count)];
      const finite = expected.logits.filter(Number.isFinite).length;
      expect(found.tokens.slice(0, finite)).toEqual(expected.tokens.slice(0, finite));
      expect(found.logits.slice(0, finite)).toEqual(expected.logits.slice(0, finite));
      expect(found.logSum).toBeCloseTo(expected.logSum, 7);
    }),
    { numRuns: 2000 },
  );
});

test("a large flat row keeps its whole sum", () => {
  const row = new Float32Array(151_936).fill(-3);
  expect(topLogits(row, 2)).toMatchObject({ tokens: [0, 1], logits: [-3, -3] });
  expect(topLogits(row, 1).logSum).toBeCloseTo(-3 + Math.log(151_936), 9);
});
