import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sampling } from "../../../../engine/protocol/sampling.ts";
import { validate } from "../../../../openapi/generation/validate.ts";
import { foldSeed, samplingOf } from "../../../../server/generation/engine-sampling.ts";
import { PLAIN_SAMPLING } from "../../../plain-submission.ts";
import { completion } from "../../openapi/body-faults.ts";

function sampling(fields: object): Sampling {
  return samplingOf(validate(completion, { model: "demo", prompt: "", ...fields }));
}

const DEFAULTS: Sampling = { ...PLAIN_SAMPLING, temperature: 1 };
const DRY = { multiplier: 0.8, base: 1.75, allowedLength: 2, window: 64, breakers: ["\n", ":", '"', "*"] };

describe("fields of samplers", () => {
  it.each<[object, Partial<Sampling>]>([
    [{}, {}],
    [{ top_k: -1, top_n_sigma: -1, mirostat: 0, xtc_probability: 0, dynatemp_range: 0, dry_multiplier: 0 }, {}],
    [{ temperature: null, repeat_penalty: null, samplers: null, dry_base: null }, {}],
    [
      { typical_p: 0.5, min_keep: 3, top_n_sigma: 1.5 },
      { typicalP: 0.5, minKeep: 3, topNSigma: 1.5 },
    ],
    [{ xtc_probability: 0.5 }, { xtc: { probability: 0.5, threshold: 0.1 } }],
    [{ xtc_probability: 0.5, xtc_threshold: 0.6 }, {}],
    [{ dynatemp_range: 0.5 }, { dynamicTemperature: { range: 0.5, exponent: 1 } }],
    [{ dynatemp_range: 0.5, dynatemp_exponent: 2 }, { dynamicTemperature: { range: 0.5, exponent: 2 } }],
    [{ mirostat: 2 }, { mirostat: { version: 2, tau: 5, eta: 0.1 } }],
    [{ mirostat: 1, mirostat_tau: 3, mirostat_eta: 0.2 }, { mirostat: { version: 1, tau: 3, eta: 0.2 } }],
    [{ repetition_penalty: 1.5 }, { repetitionPenalty: 1.5 }],
    [{ repeat_penalty: 1.5 }, { repetitionPenalty: 1.5, penaltyWindow: 64 }],
    [
      { repeat_penalty: 1.5, repetition_penalty: 1.5 },
      { repetitionPenalty: 1.5, penaltyWindow: 64 },
    ],
    [
      { repetition_penalty: 1.5, repeat_last_n: 8 },
      { repetitionPenalty: 1.5, penaltyWindow: 8 },
    ],
    [
      { frequency_penalty: 1, repeat_last_n: -1 },
      { frequencyPenalty: 1, penaltyWindow: 2 ** 31 - 1 },
    ],
    [
      { repeat_penalty: 1.5, repeat_last_n: 0 },
      { repetitionPenalty: 1.5, penaltyWindow: 0 },
    ],
    [{ dry_multiplier: 0.8 }, { dry: DRY }],
    [{ dry_multiplier: 0.8, dry_penalty_last_n: 0 }, {}],
    [{ dry_multiplier: 0.8, dry_penalty_last_n: -1 }, { dry: { ...DRY, window: 2 ** 31 - 1 } }],
    [
      { dry_multiplier: 0.8, dry_base: 2, dry_allowed_length: 3, dry_sequence_breakers: ["x"] },
      { dry: { ...DRY, base: 2, allowedLength: 3, breakers: ["x"] } },
    ],
    [{ samplers: ["top-k", "Temperature"] }, { order: ["top_k", "temperature"] }],
    [{ samplers: "edkt" }, { order: ["penalties", "dry", "top_k", "temperature"] }],
    [{ samplers: [] }, { order: [] }],
  ])("%j", (fields, expected) => {
    expect(sampling(fields)).toEqual({ ...DEFAULTS, ...expected });
  });
});

it("a seed plus any choice stays below llama.cpp's random seed", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), (seed) => {
      const folded = foldSeed(Number(seed));
      expect(Number.isInteger(folded)).toBe(true);
      expect(folded).toBeGreaterThanOrEqual(0);
      expect(folded + 127).toBeLessThan(0xffffffff);
    }),
  );
  expect([0, 1, 42].map(foldSeed)).toEqual([0, 1, 42]);
  expect(foldSeed(-1)).not.toBe(foldSeed(1));
});
