import fc from "fast-check";
import { expect, test } from "vitest";
import { argmax } from "../../../../../../engine/worker/native/sampling/argmax.ts";

/** llama_sampler_greedy_apply, word for word. */
function greedy(logits: Float32Array): number {
  let selected = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[selected]!) selected = i;
  return selected;
}

test("it draws the token of llama.cpp's greedy sampler for any row", () => {
  // Few values, so that there are ties, with NaN and infinities.
  const odd = fc.constantFrom(0, -0, 1, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
  const row = fc.array(fc.oneof(odd, fc.float()), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(row, (values) => {
      const logits = Float32Array.from(values);
      expect(argmax(logits)).toBe(greedy(logits));
    }),
    { numRuns: 2000 },
  );
});

test.each([7, 8, 9, 1000, 151_936])("of equal logits it draws the lowest id, anywhere in %i", (length) => {
  for (const first of new Set([0, 1, 6, length >> 1, length - 2])) {
    const logits = new Float32Array(length).fill(-3);
    logits[first] = 2;
    logits[length - 1] = 2;
    expect(argmax(logits)).toBe(first);
  }
});
