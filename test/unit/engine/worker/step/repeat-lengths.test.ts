import fc from "fast-check";
import { expect, test } from "vitest";
import { repeatLengths } from "../../../../../engine/worker/step/repeat-lengths.ts";

test("the lengths of llama.cpp's example", () => {
  expect([
    ...repeatLengths(
      [..."abccbcyabc"].map((c) => c.charCodeAt(0)),
      0,
    ),
  ]).toEqual([0, 0, 3, 1, 0, 2, 0, 0, 0, 0]);
});

test("each length is the common part of the tokens before the end and before its position", () => {
  const tokens = fc.array(fc.nat({ max: 2 }), { maxLength: 40 });
  fc.assert(
    fc.property(tokens, fc.nat({ max: 40 }), (all, cut) => {
      const from = Math.min(cut, all.length);
      const window = all.slice(from);
      const expected = window.map((_, i) => {
        if (i === window.length - 1) return 0;
        let n = 0;
        while (n <= i && window[i - n] === window[window.length - 1 - n]) n++;
        return n;
      });
      expect([...repeatLengths(all, from)]).toEqual(expected);
    }),
    { numRuns: 1000 },
  );
});

test("a window of one token repeated takes as many comparisons as tokens", () => {
  expect(repeatLengths(Array(200_000).fill(7), 0)[199_998]).toBe(199_999);
});
