import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type EmbeddingBatchLimits,
  planEmbeddingBatch,
} from "../../../../../engine/worker/embedding/embedding-batch.ts";

/** Half a millisecond per token. */
const COSTS: EmbeddingBatchLimits["costs"] = {
  predict: ({ prefill }) => prefill / 2,
  reach: { prefill: 10_000, decode: 0 },
};
const LIMITS: EmbeddingBatchLimits = {
  alone: 100,
  together: 100,
  inputs: 8,
  ms: Number.POSITIVE_INFINITY,
  whole: false,
  costs: COSTS,
};

function inputs(...lengths: number[]) {
  return lengths.map((length) => ({ tokens: new Array<number>(length).fill(1), computed: 0 }));
}

function counts(lengths: number[], limits: Partial<EmbeddingBatchLimits> = {}): number[] {
  return planEmbeddingBatch(inputs(...lengths), { ...LIMITS, ...limits }).map(({ count }) => count);
}

test.each<[string, number[], Partial<EmbeddingBatchLimits>, number[]]>([
  ["many short inputs share a batch", [10, 20, 30], {}, [10, 20, 30]],
  ["as many as a batch may have", [1, 1, 1], { inputs: 2 }, [1, 1]],
  ["a long one in pieces", [250, 5], {}, [100]],
  ["the rest of a piece begins the next, if it is worth it", [40, 250], {}, [40, 60]],
  ["a rest too short for a beginning stays empty", [95, 250], {}, [95]],
  ["no more than the time allows", [30, 30, 30], { ms: 20 }, [30]],
  ["but always some of the first", [250], { ms: 0.1 }, [16]],
  ["a whole input alone may be longer than a piece", [250, 5], { whole: true, alone: 300 }, [250]],
  ["inputs that share cells may have fewer tokens than one alone", [90, 5], { together: 40 }, [90]],
  ["whole inputs are not cut to fit", [60, 60], { whole: true }, [60]],
  ["nor for time", [60, 60], { whole: true, ms: 0.1 }, [60]],
])("%s", (_, lengths, limits, expected) => {
  expect(counts(lengths, limits)).toEqual(expected);
});

test("every input is computed once, in order and within limits, at most one of them partly", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
  const limit = fc.record({ ms: fc.constantFrom(1, 20, Number.POSITIVE_INFINITY), whole: fc.boolean() });
  fc.assert(
    fc.property(lengths, limit, (given, change) => {
      const limits = { ...LIMITS, alone: 300, ...change };
      const queue = inputs(...given);
      for (let waiting = queue; waiting.length > 0; ) {
        const entries = planEmbeddingBatch(waiting, limits);
        expect(entries.length).toBeGreaterThan(0);
        const tokens = entries.reduce((sum, { count }) => sum + count, 0);
        if (entries.length > 1) expect(tokens).toBeLessThanOrEqual(limits.together);
        for (const [i, { input, count }] of entries.entries()) {
          expect(input).toBe(waiting[i]);
          input.computed += count;
          if (i < entries.length - 1 || limits.whole) expect(input.computed).toBe(input.tokens.length);
          expect(input.computed).toBeLessThanOrEqual(input.tokens.length);
        }
        waiting = waiting.filter(({ tokens, computed }) => computed < tokens.length);
        expect(waiting.filter(({ computed }) => computed > 0).length).toBeLessThanOrEqual(1);
      }
    }),
  );
});
