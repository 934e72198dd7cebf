import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EngineRequest } from "../../../../../engine/protocol/request.ts";
import { Sampler } from "../../../../../engine/worker/native/sampling/sampler.ts";
import { EngineSequence, type TokenTexts } from "../../../../../engine/worker/step/sequence.ts";
import { SequenceText } from "../../../../../engine/worker/text/output/sequence-text.ts";
import { plainRequest } from "../plain-request.ts";

const TEXTS = ["a", "b", "st", "op", "", "<eos>", "é", "\n"];
const A = 0;
const B = 1;
const ST = 2;
const OP = 3;
const SILENT = 4;
const EOS = 5;
/** An end token that shows: some vocabularies do not mark theirs as control tokens. */
const VOCABULARY: TokenTexts = {
  isEnd: (token) => token === EOS,
  piece: (token) => new TextEncoder().encode(TEXTS[token]),
};

function generation(change: Partial<EngineRequest> = {}, limit = 100): EngineSequence {
  const request = plainRequest(change);
  // Nothing is drawn here: the tokens come from the test.
  const sampler: Sampler = Object.create(Sampler.prototype);
  const text = new SequenceText({ stop: request.stop, reasoningTags: null, startsInReasoning: false });
  const parts = {
    request,
    index: 0,
    arrival: 0,
    scope: "",
    promptTokens: [A, B],
    limit,
    sampler,
    rules: null,
    constraint: null,
    logprobs: null,
    text,
    thoughts: null,
  };
  return new EngineSequence(parts);
}

/** Gives tokens one by one, with the text of each, until it has finished. */
function drive(subject: EngineSequence, tokens: readonly number[]) {
  let text = "";
  let counted = 0;
  for (const token of tokens) {
    subject.accept(token, VOCABULARY);
    const output = subject.output(VOCABULARY);
    text += output?.text ?? "";
    counted += output?.tokens ?? 0;
    if (output?.finish) return { text, counted, finish: output.finish };
  }
  return { text, counted, finish: null };
}

function finish(reason: "stop" | "length", completionTokens: number, stop: string | null = null) {
  return { reason, stop, completionTokens, reasoningTokens: 0 };
}

describe("the end of a sequence", () => {
  test.each<[string, Partial<EngineRequest>, number, number[], string, ReturnType<typeof finish> | null]>([
    ["nothing yet", {}, 100, [A, B], "ab", null],
    ["an end token, whose text is not shown", {}, 100, [A, EOS], "a", finish("stop", 2)],
    ["an end token at once", {}, 100, [EOS], "", finish("stop", 1)],
    ["not an end token that is to be ignored", { ignoreEos: true }, 100, [EOS, A], "<eos>a", null],
    ["a stop token, whose text is not shown", { stopTokenIds: [B] }, 100, [A, B], "a", finish("stop", 2)],
    [
      "an end token as stop token, though end tokens are ignored",
      { ignoreEos: true, stopTokenIds: [EOS] },
      100,
      [EOS],
      "",
      finish("stop", 1),
    ],
    ["as many tokens as were asked for", {}, 3, [A, B, A], "aba", finish("length", 3)],
    ["an end token as the last one allowed counts as stop", {}, 2, [A, EOS], "a", finish("stop", 2)],
    ["a stop string across tokens", { stop: ["stop"] }, 100, [A, ST, OP], "a", finish("stop", 3, "stop")],
    [
      "a stop string that ends with the last one allowed",
      { stop: ["stop"] },
      3,
      [A, ST, OP],
      "a",
      finish("stop", 3, "stop"),
    ],
    ["the begin of a stop string is given back at the end", { stop: ["stop"] }, 2, [A, ST], "ast", finish("length", 2)],
    [
      "the begin of a stop string before an end token too",
      { stop: ["stop"] },
      100,
      [A, ST, EOS],
      "ast",
      finish("stop", 3),
    ],
    [
      "a stop string within min_tokens is text",
      { stop: ["a"], minTokens: 2 },
      100,
      [A, B, A],
      "ab",
      finish("stop", 3, "a"),
    ],
    [
      "a stop string that min_tokens cuts is complete after it",
      { stop: ["stop"], minTokens: 1 },
      100,
      [ST, OP],
      "",
      finish("stop", 2, "stop"),
    ],
    ["a token without text", {}, 100, [SILENT, A], "a", null],
  ])("%s", (_, change, limit, tokens, text, end) => {
    const result = drive(generation(change, limit), tokens);
    expect(result.text).toBe(text);
    expect(result.finish).toEqual(end);
    expect(result.counted).toBe(tokens.length);
  });
});

test("without a token there is no output", () => {
  expect(generation().output(VOCABULARY)).toBeNull();
});

test("a stop string ends the sequence when its text is made a step late", () => {
  const subject = generation({ stop: ["stop"] });
  subject.accept(ST, VOCABULARY);
  subject.accept(OP, VOCABULARY);
  expect(subject.finished).toBe(false);
  expect(subject.output(VOCABULARY)).toMatchObject({ text: "", tokens: 2, finish: finish("stop", 2, "stop") });
  expect(subject.finished).toBe(true);
});

test("its tokens are a copy of the prompt and the drawn tokens", () => {
  const subject = generation();
  subject.accept(ST, VOCABULARY);
  expect(subject.tokens).toEqual([A, B, ST]);
  expect(subject.generated).toBe(1);
});

test("one finish, every token counted once and no text lost, however late text is made", () => {
  const drawn = fc.array(fc.nat({ max: TEXTS.length - 1 }), { minLength: 1, maxLength: 12 });
  const batches = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(drawn, batches, fc.integer({ min: 1, max: 12 }), (tokens, makeText, limit) => {
      const subject = generation({}, limit);
      let text = "";
      let counted = 0;
      let finishes = 0;
      const taken: number[] = [];
      const output = () => {
        const made = subject.output(VOCABULARY);
        text += made?.text ?? "";
        counted += made?.tokens ?? 0;
        finishes += made?.finish ? 1 : 0;
      };
      for (const [i, token] of tokens.entries()) {
        if (subject.finished) break;
        subject.accept(token, VOCABULARY);
        taken.push(token);
        if (makeText[i]) output();
      }
      output();
      expect(text).toBe(
        taken
          .filter((token) => token !== EOS)
          .map((token) => TEXTS[token])
          .join(""),
      );
      expect(counted).toBe(taken.length);
      expect(finishes).toBe(taken.includes(EOS) || taken.length === limit ? 1 : 0);
    }),
    { numRuns: 500 },
  );
});
