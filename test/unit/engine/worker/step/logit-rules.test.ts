import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sampling } from "../../../../../engine/protocol/sampling.ts";
import { LogitRules, type LogitRulesOptions } from "../../../../../engine/worker/step/logit-rules.ts";
import { BreakerLists } from "../../../../../engine/worker/step/sequence-breakers.ts";
import { PLAIN_SUBMISSION } from "../../../../plain-submission.ts";
import { LETTER_VOCABULARY } from "./letter-vocabulary.ts";

const VOCABULARY = 8;
const LISTS = new BreakerLists(LETTER_VOCABULARY);
const NONE: LogitRulesOptions = {
  ...PLAIN_SUBMISSION,
  endTokens: [7],
  breakers: (texts) => LISTS.of(texts),
};

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

test("with a window, all penalties count the last tokens of prompt and answer", () => {
  const made = rules(
    {},
    { repetitionPenalty: 2, frequencyPenalty: 1, presencePenalty: 0.5, penaltyWindow: 3 },
    [0, 1, 1],
  );
  expect(apply(made, Array(VOCABULARY).fill(8))).toEqual([2.5, 1.5, 8, 8, 8, 8, 8, 8]);
  made?.accept(2);
  expect(apply(made, Array(VOCABULARY).fill(8))).toEqual([8, 1.5, 2.5, 8, 8, 8, 8, 8]);
});

test("penalties and DRY apply in the given order, and only when it names them", () => {
  const sampling = {
    repetitionPenalty: 2,
    dry: { multiplier: 1, base: 2, allowedLength: 1, window: 64, breakers: [] },
  } satisfies Partial<Sampling>;
  const prompt = [0, 1, 0];
  const of = (order: Sampling["order"]) => apply(rules({}, { ...sampling, order }, prompt), Array(VOCABULARY).fill(4));
  expect(of(["penalties", "dry"]).slice(0, 3)).toEqual([2, 1, 4]);
  expect(of(["dry", "penalties"]).slice(0, 3)).toEqual([2, 1.5, 4]);
  expect(of(["dry"]).slice(0, 3)).toEqual([4, 3, 4]);
  expect(rules({}, { ...sampling, order: ["top_k"] }, prompt)).toBeNull();
});

test("DRY counts generated tokens", () => {
  const dry = { multiplier: 1, base: 2, allowedLength: 2, window: 64, breakers: [] };
  const made = rules({}, { dry }, [0, 1, 2, 0]);
  expect(apply(made, Array(VOCABULARY).fill(4))).toEqual(Array(VOCABULARY).fill(4));
  made?.accept(1);
  expect(apply(made, Array(VOCABULARY).fill(4))).toEqual([4, 4, 3, 4, 4, 4, 4, 4]);
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
  penaltyWindow: fc.option(fc.nat({ max: 12 })),
});

test("the rules match their definition for every token", () => {
  fc.assert(
    fc.property(scene, ({ prompt, generated, logits, ...asked }) => {
      const made = rules(asked, asked, prompt);
      for (const drawn of generated) made?.accept(drawn);
      const expected = logits.map((logit, candidate) => {
        const window = asked.penaltyWindow;
        const counted = window === null ? generated : window === 0 ? [] : [...prompt, ...generated].slice(-window);
        const count = counted.filter((drawn) => drawn === candidate).length;
        const seen = count > 0 || (window === null && prompt.includes(candidate));
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
