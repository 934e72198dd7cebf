import { expect, test } from "vitest";
import { syntheticVocabulary, vocabularyMetadata } from "../../../bench/models/vocabulary.ts";

/** BPE like a tokenizer's: merges the adjacent pair of the lowest rank until none is left. */
function spell(word: string, ranks: Map<string, number>): string[] {
  const parts = [...word];
  for (;;) {
    const pairs = parts.slice(1).map((part, i) => ranks.get(`${parts[i]} ${part}`) ?? Number.POSITIVE_INFINITY);
    const best = Math.min(...pairs);
    if (!Number.isFinite(best)) return parts;
    const at = pairs.indexOf(best);
    parts.splice(at, 2, parts[at]! + parts[at + 1]!);
  }
}

test.each([259, 512, 32_768, 151_936])("a vocabulary of %i tokens has that size and no duplicate", (size) => {
  const { tokens, merges, control } = syntheticVocabulary(size);
  expect(tokens).toHaveLength(size);
  expect(new Set(tokens).size).toBe(size);
  expect(merges).toHaveLength(size - 256 - control.length);
  expect(control.map((id) => tokens[id])).toEqual(["<|endoftext|>", "<|im_start|>", "<|im_end|>"]);
});

test("every word results from the merges of its characters", () => {
  const { tokens, merges } = syntheticVocabulary(151_936);
  const ranks = new Map(merges.map((merge, rank) => [merge, rank]));
  for (let id = 0; id < tokens.length - 3; id += 37) expect(spell(tokens[id]!, ranks)).toEqual([tokens[id]]);
});

test("the bytes are the first 256 tokens, with GPT-2's form of the space", () => {
  const { tokens } = syntheticVocabulary(300);
  expect(tokens[0x41]).toBe("A");
  expect(tokens[0x20]).toBe("Ġ");
  expect(tokens[0x0a]).toBe("Ċ");
});

test("control tokens are marked and end a turn", () => {
  const metadata = vocabularyMetadata(syntheticVocabulary(300));
  const types = metadata["tokenizer.ggml.token_type"];
  expect(types?.value).toEqual([...Array(297).fill(1), 3, 3, 3]);
  expect(metadata["tokenizer.ggml.eos_token_id"]?.value).toBe(299);
});

test("a vocabulary too small for the bytes or too large for the words is rejected", () => {
  expect(() => syntheticVocabulary(258)).toThrow(RangeError);
  expect(() => syntheticVocabulary(2_000_000)).toThrow(RangeError);
});
