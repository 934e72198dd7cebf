import { expect, test } from "vitest";
import type { EmbeddingInput } from "../../../../../engine/protocol/embedding.ts";
import { InputTokenizer } from "../../../../../engine/worker/embedding/input-tokenizer.ts";
import type { TextOwner } from "../../../../../engine/worker/text/tokenize-queue.ts";
import type { TextPart } from "../../../../../engine/worker/text/tokenizer.ts";

/** A token per character. */
function makeTokens(context = 8192) {
  const made = { texts: 0 };
  const tokenizer = {
    mostBytes: () => 100_000,
    async tokens(parts: readonly TextPart[]) {
      made.texts += parts.length;
      return parts.map(({ text }) => Int32Array.from(text, () => 7));
    },
  };
  const vocabulary = { bos: 1, addBos: false, closing: 2, separator: -1 };
  return { tokens: new InputTokenizer({ tokenizer, vocabulary, rankTemplate: null, context }), made };
}

const texts = (count: number, length: number): EmbeddingInput[] =>
  Array.from({ length: count }, () => ({ kind: "text", text: "a".repeat(length) }));
const owned = (isWanted: () => boolean): TextOwner => ({ tier: "default", isWanted });
const wanted = owned(() => true);

test("tokenizing many texts yields to the event loop in between", async () => {
  const { tokens } = makeTokens();
  let turns = 0;
  let done = false;
  const others = () => {
    turns++;
    if (!done) setImmediate(others);
  };
  setImmediate(others);
  const lists = await tokens.ofAll(texts(100, 2000), wanted);
  done = true;
  expect(lists).toHaveLength(100);
  expect(turns).toBeGreaterThan(20);
});

test("tokenizing ends at the first input beyond the bound and at a cancel", async () => {
  const many = makeTokens();
  expect(await many.tokens.ofAll(texts(2048, 8000), wanted)).toMatchObject({ code: "invalid_value" });
  expect(many.made.texts).toBe(38);
  const left = makeTokens();
  expect(
    await left.tokens.ofAll(
      texts(2048, 8000),
      owned(() => left.made.texts < 5),
    ),
  ).toBeNull();
  expect(left.made.texts).toBe(5);
});

test.each<[string, EmbeddingInput[], string, string]>([
  [
    "too long",
    texts(1, 11),
    "context_length_exceeded",
    "'input': this model reads at most 10 tokens of one input, and",
  ],
  ["too long among others", [...texts(1, 3), ...texts(1, 11)], "context_length_exceeded", "'input[1]'"],
  ["empty", [{ kind: "tokens", tokens: [] }], "invalid_value", "'input': it has no tokens."],
  [
    "a pair too long",
    [{ kind: "pair", query: "what", document: "a river" }],
    "context_length_exceeded",
    "'documents[0]'",
  ],
])("%s is refused by name", async (_, inputs, code, message) => {
  const refusal = await makeTokens(10).tokens.ofAll(inputs, wanted);
  expect(refusal).toMatchObject({ code, message: expect.stringContaining(message) });
});

test("texts that are too long are cut off where that is requested", async () => {
  const { tokens } = makeTokens(10);
  const [long, short] = [...texts(1, 150_000), ...texts(1, 4)] as [EmbeddingInput, EmbeddingInput];
  expect(await tokens.ofAll([long, short], wanted, true)).toEqual([Array(10).fill(7), Array(4).fill(7)]);
});
