import fc from "fast-check";
import { expect, test } from "vitest";
import { ReasoningBudget } from "../../../../../../engine/worker/text/output/reasoning-budget.ts";
import { SequenceText } from "../../../../../../engine/worker/text/output/sequence-text.ts";

const TAGS = { open: "<think>", close: "</think>" };
/** Tokens: a word, half an "é" each, the tags in pieces. */
const TEXTS = [Buffer.from(" so"), Buffer.from([0xc3]), Buffer.from([0xa9]), "<think>", "</th", "ink>", "yes"].map(
  (text) => Buffer.from(text as string),
);
const [WORD, FIRST_HALF, SECOND_HALF, OPEN, CLOSE_1, CLOSE_2, YES] = [0, 1, 2, 3, 4, 5, 6] as const;
const CLOSING = [CLOSE_1, CLOSE_2];

/** Draws the tokens one by one under a budget. */
function run(drawn: readonly number[], tokens: number, startsInReasoning = true, forbidden: readonly number[] = []) {
  const text = new SequenceText({ stop: [], reasoningTags: TAGS, startsInReasoning });
  const budget = new ReasoningBudget(tokens, CLOSING);
  const taken: number[] = [];
  const all = { text: "", reasoning: "" };
  for (const token of drawn) {
    taken.push(budget.take(token, text, (one) => !forbidden.includes(one)));
    const certain = text.push(TEXTS[taken.at(-1)!]!);
    all.text += certain.text;
    all.reasoning += certain.reasoning;
  }
  return { taken, ...all, reasoningTokens: text.reasoningTokens };
}

test("reasoning is closed after its budget, and the answer follows", () => {
  expect(run([WORD, WORD, WORD, WORD, WORD, YES, YES], 3)).toEqual({
    taken: [WORD, WORD, WORD, CLOSE_1, CLOSE_2, YES, YES],
    text: "yesyes",
    reasoning: "so so so",
    reasoningTokens: 5,
  });
});

test("a budget of 0 closes reasoning before its first token", () => {
  expect(run([WORD, WORD, YES], 0).taken).toEqual([CLOSE_1, CLOSE_2, YES]);
  expect(run([OPEN, WORD, WORD, YES], 0, false)).toMatchObject({ taken: [OPEN, CLOSE_1, CLOSE_2, YES], text: "yes" });
});

test("reasoning that ends before its budget, and an answer without any, are unchanged", () => {
  const ends = [WORD, CLOSE_1, CLOSE_2, YES, YES, OPEN, WORD];
  expect(run(ends, 3).taken).toEqual(ends);
  expect(run([YES, WORD, WORD, WORD], 2, false).taken).toEqual([YES, WORD, WORD, WORD]);
});

test("where a grammar forbids a token of the close tag the reasoning stays open", () => {
  const drawn = [WORD, WORD, WORD, WORD];
  expect(run(drawn, 1, true, [CLOSE_1]).taken).toEqual(drawn);
  expect(run(drawn, 1, true, [CLOSE_2]).taken).toEqual([WORD, CLOSE_1, WORD, WORD]);
});

test("an incomplete character gets a bounded number of tokens before the close tag", () => {
  expect(run([WORD, FIRST_HALF, SECOND_HALF, WORD, WORD, YES], 2)).toMatchObject({
    taken: [WORD, FIRST_HALF, SECOND_HALF, CLOSE_1, CLOSE_2, YES],
    reasoning: "soé",
  });
  const endless = run([WORD, ...Array(8).fill(FIRST_HALF)], 2);
  expect(endless.taken.indexOf(CLOSE_1)).toBeLessThanOrEqual(5);
});

test("reasoning has at most its budget, a character and the close tag in tokens", () => {
  const token = fc.integer({ min: 0, max: TEXTS.length - 1 });
  fc.assert(
    fc.property(fc.array(token, { maxLength: 40 }), fc.nat({ max: 10 }), (drawn, tokens) => {
      expect(run(drawn, tokens).reasoningTokens).toBeLessThanOrEqual(tokens + 3 + CLOSING.length);
    }),
  );
});
