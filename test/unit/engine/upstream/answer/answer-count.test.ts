import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { AnswerCount, type AnswerCountParts } from "../../../../../engine/upstream/answer/answer-count.ts";

function counting(parts: Partial<AnswerCountParts> = {}) {
  return new AnswerCount({ choices: 1, usageByChoice: false, promptEstimate: 5, mostTokens: 100, ...parts });
}

/** Ten pieces of four characters. */
function counted(...reports: unknown[]) {
  const count = counting();
  for (let i = 0; i < 10; i++) count.add(0, "abcd");
  for (const report of reports) count.report(report);
  return count.whole();
}
const ESTIMATE = { promptTokens: 5, completionTokens: [10], estimated: true, cachedTokens: 0, reasoningTokens: 0 };
const usage = (prompt_tokens: unknown, completion_tokens: unknown, more: object = {}) => ({
  ...{ prompt_tokens, completion_tokens },
  ...more,
});

describe("the counts of an answer", () => {
  it("are those that the upstream reports, with cached and reasoning tokens", () => {
    const details = { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } };
    expect(counted(usage(6, 9, details))).toEqual({
      ...{ promptTokens: 6, completionTokens: [9], estimated: false, cachedTokens: 4, reasoningTokens: 2 },
    });
  });

  test.each([
    ["none", []],
    ["null", [null]],
    ["no numbers", [{ prompt_tokens: "6" }, {}]],
    ["a negative number", [usage(6, -1)]],
    ["a fraction", [usage(6, 9.5)]],
    ["zeros", [usage(0, 0)]],
  ])("are estimated where the report is %s", (_, reports) => {
    expect(counted(...reports)).toMatchObject({ completionTokens: [10], estimated: true });
  });

  test.each([
    ["no prompt", usage(0, 10)],
    ["more of the prompt than any text has", usage(1_000_000, 10)],
  ])("are estimated with %s", (_, report) => {
    expect(counted(report)).toEqual(ESTIMATE);
  });

  test.each([
    ["fewer tokens than an eighth of the pieces", 1],
    ["more tokens than were asked for", 101],
  ])("are estimated with %s, but for a prompt that can be right", (_, completion) => {
    expect(counted(usage(6, completion))).toEqual({ ...ESTIMATE, promptTokens: 6 });
  });

  it("are those of the last report with numbers", () => {
    expect(counted(usage(6, 2), usage(6, 9), null, {})).toMatchObject({ promptTokens: 6, completionTokens: [9] });
  });

  it("are the sum of the reports where each is of one choice, and estimates until all have one", () => {
    const count = counting({ choices: 2, usageByChoice: true });
    for (let i = 0; i < 10; i++) count.add(i % 2, "abcd");
    count.report(usage(6, 7, { prompt_tokens_details: { cached_tokens: 5 } }));
    expect(count.whole()).toMatchObject({ completionTokens: [5, 5], estimated: true });
    count.report(usage(6, 5, { prompt_tokens_details: { cached_tokens: 5 } }));
    expect(count.whole()).toMatchObject({
      promptTokens: 6,
      cachedTokens: 5,
      completionTokens: [6, 6],
      estimated: false,
    });
  });

  it("have no more cached and reasoning tokens than tokens", () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 99 },
      completion_tokens_details: { reasoning_tokens: 99 },
    };
    expect(counted(usage(6, 9, details))).toMatchObject({ cachedTokens: 6, reasoningTokens: 9 });
  });

  it("are divided among the choices by their text, and add up", () => {
    const choices = fc.array(fc.array(fc.string({ maxLength: 30 }), { maxLength: 10 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(choices, fc.nat(100), (texts, completion) => {
        const count = counting({ choices: texts.length });
        for (const [index, pieces] of texts.entries()) for (const piece of pieces) count.add(index, piece);
        count.report(usage(5, completion));
        const { completionTokens, estimated } = count.whole();
        expect(completionTokens).toHaveLength(texts.length);
        expect(completionTokens.every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
        if (!estimated) expect(completionTokens.reduce((sum, one) => sum + one, 0)).toBe(completion);
      }),
    );
  });

  it("are estimated by bytes where pieces are long", () => {
    const count = counting();
    count.add(0, "ä".repeat(40));
    expect(count.estimate(0)).toBe(20);
  });
});
