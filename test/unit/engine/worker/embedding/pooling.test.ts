import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Pooling } from "../../../../../engine/protocol/config.ts";
import { normalize, PooledVector } from "../../../../../engine/worker/embedding/pooling.ts";
import { base64Of, embeddingItems, shortened } from "../../../../../server/embedding/vector-json.ts";

const numbers = fc.array(fc.float({ min: -10, max: 10, noNaN: true }), { minLength: 1, maxLength: 40 });

function length(vector: Iterable<number>): number {
  return Math.hypot(...vector);
}

describe("the parts of one input", () => {
  test("have means that, weighted by their tokens, are the mean of all tokens", () => {
    const pieces = fc.array(fc.array(fc.float({ min: -5, max: 5, noNaN: true }), { minLength: 1, maxLength: 9 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(pieces, (given) => {
        const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
        const pooled = new PooledVector("mean");
        // The second number keeps the length away from 0, and gives the scale.
        for (const piece of given) pooled.add(Float32Array.of(mean(piece), 1), piece.length);
        const [first, second] = pooled.finish();
        expect(first! / second!).toBeCloseTo(mean(given.flat()), 3);
      }),
    );
  });

  test.each<[Pooling, number[]]>([
    ["cls", [3 / 5, 4 / 5]],
    ["last", [1, 0]],
    ["rank", [7, 0]],
  ])("%s takes the vector of the one part that determines it", (pooling, expected) => {
    const vector = new PooledVector(pooling);
    vector.add(Float32Array.of(3, 4), 2);
    vector.add(Float32Array.of(7, 0), 1);
    for (const [i, value] of [...vector.finish()].entries()) expect(value).toBeCloseTo(expected[i]!, 6);
  });
});

test("a vector is normalized to length 1, and a zero vector stays", () => {
  fc.assert(
    fc.property(numbers, (values) => {
      const vector = normalize(Float32Array.from(values));
      const expected = length(Float32Array.from(values)) > 1e-15 ? 1 : 0;
      if (expected === 1) expect(length(vector)).toBeCloseTo(1, 4);
    }),
  );
  expect([...normalize(new Float32Array(3))]).toEqual([0, 0, 0]);
});

test("fewer dimensions are the first ones, normalized to length 1", () => {
  const vector = normalize(Float32Array.of(1, 2, 3, 4));
  const short = shortened(vector, 2);
  expect(length(short)).toBeCloseTo(1, 6);
  expect(short[1]! / short[0]!).toBeCloseTo(2, 5);
  expect(shortened(vector, 4)).toBe(vector);
  expect(shortened(vector, null)).toBe(vector);
});

test("base64 is little-endian float32 for all numbers", () => {
  fc.assert(
    fc.property(numbers, (values) => {
      const vector = Float32Array.from(values);
      const bytes = Buffer.from(base64Of(vector), "base64");
      expect(Array.from(vector, (_, i) => bytes.readFloatLE(i * 4))).toEqual([...vector]);
    }),
  );
});

test("the items are JSON with exact numbers, also for lists that are written in several parts", async () => {
  const vectors = Array.from({ length: 3 }, (_, i) => new Float32Array(20_000).fill(i / 3));
  const items: { index: number; embedding: number[] }[] = JSON.parse(`[${await embeddingItems(vectors, "float")}]`);
  expect(items.map(({ index, embedding }) => [index, embedding.length, Math.fround(embedding[7]!)])).toEqual(
    vectors.map((vector, i) => [i, 20_000, vector[7]]),
  );
});
