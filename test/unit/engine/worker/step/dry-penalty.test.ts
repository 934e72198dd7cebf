import fc from "fast-check";
import { expect, test } from "vitest";
import type { Dry } from "../../../../../engine/protocol/sampling.ts";
import { DryPenalty } from "../../../../../engine/worker/step/dry-penalty.ts";
import { SequenceBreakers } from "../../../../../engine/worker/step/sequence-breakers.ts";
import { LETTER_VOCABULARY, PIECES } from "./letter-vocabulary.ts";

const DRY: Dry = { multiplier: 1, base: 2, allowedLength: 2, window: 64, breakers: [] };

/** What is taken from each logit. */
function penalties(tokens: number[], fields: Partial<Dry> = {}): number[] {
  const dry = { ...DRY, ...fields };
  const logits = new Float32Array(PIECES.length);
  new DryPenalty(dry, new SequenceBreakers(dry.breakers, LETTER_VOCABULARY)).apply(logits, tokens);
  return [...logits].map((logit) => 0 - logit);
}

test("the token that continues a repetition is penalized by the length of the repetition", () => {
  expect(penalties([0, 1, 2, 4, 0, 1])).toEqual([0, 0, 1, 0, 0, 0, 0, 0]);
  expect(penalties([3, 0, 1, 2, 4, 3, 0, 1])).toEqual([0, 0, 2, 0, 0, 0, 0, 0]);
});

test("a repetition shorter than the allowed length costs nothing", () => {
  expect(penalties([0, 1, 2, 4, 1])).toEqual(Array(8).fill(0));
});

test("a repetition does not extend across a breaker", () => {
  const tokens = [0, 7, 1, 2, 4, 0, 7, 1];
  expect(penalties(tokens, { allowedLength: 1 })[2]).toBe(4);
  expect(penalties(tokens, { allowedLength: 1, breakers: ["\n"] })[2]).toBe(1);
});

test("a breaker itself is not penalized", () => {
  expect(penalties([0, 1, 7, 4, 0, 1], { breakers: ["\n"] })).toEqual(Array(8).fill(0));
});

test("tokens before the window do not count", () => {
  expect(penalties([0, 1, 2, 4, 0, 1], { window: 5 })).toEqual(Array(8).fill(0));
});

test("the penalty of a long repetition stays finite", () => {
  const [first] = penalties(Array(3000).fill(0), { multiplier: 100, base: 100, window: 3000 });
  expect(first).toBeCloseTo(1e30, -24);
});

/** llama.cpp's definition, one position after the other. */
function slow(tokens: number[], { multiplier, base, allowedLength, window, breakers }: Dry): number[] {
  const last = tokens.slice(Math.max(0, tokens.length - window));
  const contains = (token: number) => breakers.some((text) => PIECES[token]!.includes(text));
  const behind = [...last].reverse().findIndex(contains);
  const limit = behind < 0 ? last.length : behind;
  return PIECES.map((_, token) => {
    let longest = -1;
    for (let i = 0; i < last.length - 1; i++) {
      let n = 0;
      while (n <= i && last[i - n] === last[last.length - 1 - n]) n++;
      if (last[i + 1] === token) longest = Math.max(longest, Math.min(n, limit));
    }
    const free = longest < allowedLength || limit < allowedLength || last.length <= allowedLength || contains(token);
    return free ? 0 : Math.fround(multiplier * base ** (longest - allowedLength));
  });
}

test("the penalties match llama.cpp's definition", () => {
  const scene = fc.record({
    tokens: fc.array(fc.nat({ max: PIECES.length - 1 }), { maxLength: 30 }),
    multiplier: fc.constantFrom(0.5, 1, 2),
    base: fc.constantFrom(1, 1.5, 2),
    allowedLength: fc.nat({ max: 4 }),
    window: fc.integer({ min: 1, max: 32 }),
    // One letter each: a longer one may be several tokens.
    breakers: fc.subarray(["a", "b", "c", "\n"]),
  });
  fc.assert(
    fc.property(scene, ({ tokens, ...dry }) => {
      expect(penalties(tokens, dry)).toEqual(slow(tokens, dry));
    }),
    { numRuns: 1000 },
  );
});
