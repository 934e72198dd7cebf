import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sampling } from "../../../../../engine/protocol/request.ts";
import { LogitRules, type LogitRulesOptions } from "../../../../../engine/worker/step/logit-rules.ts";
import { PLAIN_SUBMISSION } from "../../../../plain-submission.ts";

const VOCABULARY = 8;
const NONE: LogitRulesOptions = { ...PLAIN_SUBMISSION, endTokens: [7] };

function rules(options: Partial<LogitRulesOptions>, sampling: Partial<Sampling> = {}, prompt: number[] = []) {
  return LogitRules.for({ ...NONE, ...options, sampling: { ...NONE.sampling, ...sampling } }, prompt);
}

function apply(made: LogitRules | null, logits: number[] = Array(VOCABULARY).fill(1)): number[] {
  const row = Float32Array.from(logits);
  made?.apply(row);
  return [...row];
}

test("a request without rules does not change the logits", () => {
  expect(rules({ stopTokenIds: [3] })).toBeNull();
});

test("end tokens and stop tokens are suppressed until min_tokens are generated", () => {
  const made = rules({ minTokens: 2, stopTokenIds: [3] });
  const early = [1, 1, 1, -Infinity, 1, 1, 1, -Infinity];
  expect(apply(made)).toEqual(early);
  made?.accept(0);
  expect(apply(made)).toEqual(early);
  made?.accept(0);
  expect(apply(made)).toEqual(Array(VOCABULARY).fill(1));
});

test("ignore_eos suppresses end tokens even with a bias, but not stop tokens", () => {
  const made = rules({ ignoreEos: true, stopTokenIds: [3] }, { logitBias: [[7, 100]] });
  for (let i = 0; i < 5; i++) {
    expect(apply(made)).toEqual([1, 1, 1, 1, 1, 1, 1, -Infinity]);
    made?.accept(i);
  }
});

test("tokens outside the vocabulary are ignored", () => {
  const made = rules({ minTokens: 1, stopTokenIds: [VOCABULARY] }, { logitBias: [[VOCABULARY, 5]] });
  expect(apply(made)).toEqual([1, 1, 1, 1, 1, 1, 1, -Infinity]);
});

test("a repetition penalty lowers negative logits, and applies once per token", () => {
  const made = rules({}, { repetitionPenalty: 2 }, [0, 0, 1]);
  made?.accept(1);
  made?.accept(2);
  expect(apply(made, [4, -4, 0.5, -1, 1, 1, 1, 1])).toEqual([2, -8, 0.25, -1, 1, 1, 1, 1]);
});

const token = fc.nat({ max: VOCABULARY - 1 });
const tenths = (min: number, max: number) => fc.integer({ min: min * 10, max: max * 10 }).map((value) => value / 10);
const scene = fc.record({
  prompt: fc.array(token, { maxLength: 6 }),
  generated: fc.array(token, { maxLength: 10 }),
  logits: fc.array(tenths(-9, 9), { minLength: VOCABULARY, maxLength: VOCABULARY }),
  frequencyPenalty: tenths(-2, 2),
  presencePenalty: tenths(-2, 2),
  repetitionPenalty: tenths(1, 2),
  logitBias: fc.uniqueArray(fc.tuple(token, tenths(-100, 100)), { selector: ([biased]) => biased, maxLength: 4 }),
  minTokens: fc.nat({ max: 12 }),
  ignoreEos: fc.boolean(),
  stopTokenIds: fc.array(token, { maxLength: 2 }),
});

test("the rules match their definition for every token", () => {
  fc.assert(
    fc.property(scene, ({ prompt, generated, logits, ...asked }) => {
      const made = rules(asked, asked, prompt);
      for (const drawn of generated) made?.accept(drawn);
      const expected = logits.map((logit, candidate) => {
        const count = generated.filter((drawn) => drawn === candidate).length;
        const seen = count > 0 || prompt.includes(candidate);
        let value = logit + (asked.logitBias.find(([biased]) => biased === candidate)?.[1] ?? 0);
        if (seen) value = value > 0 ? value / asked.repetitionPenalty : value * asked.repetitionPenalty;
        if (count > 0) value -= count * asked.frequencyPenalty + asked.presencePenalty;
        const early = generated.length < asked.minTokens;
        const held =
          (candidate === 7 && (early || asked.ignoreEos)) || (early && asked.stopTokenIds.includes(candidate));
        return held ? -Infinity : value;
      });
      apply(made, logits).forEach((value, candidate) => {
        expect(value).toBeCloseTo(expected[candidate]!, 3);
      });
    }),
    { numRuns: 500 },
  );
});
