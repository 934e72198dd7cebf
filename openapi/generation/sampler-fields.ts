import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { INT32_MAX } from "./int32.ts";
import { samplersField } from "./sampler-order.ts";

/** llama.cpp cuts longer breakers. */
const MAX_BREAKER_BYTES = 40;
const MAX_BREAKERS = 64;

/** A count of last tokens; −1 stands for all of them. */
const lastTokens = z.int().min(-1).max(INT32_MAX);

const breaker = z
  .string()
  .min(1)
  .max(MAX_BREAKER_BYTES)
  .refine((text) => Buffer.byteLength(text) <= MAX_BREAKER_BYTES, {
    error: `it must have at most ${MAX_BREAKER_BYTES} bytes of UTF-8`,
  });

/** Samplers beyond those of OpenAI and vLLM, with llama-server's names and defaults. */
export const samplerFields = {
  samplers: samplersField,
  typical_p: z.number().min(0).max(1).nullish().describe("Extension. Locally typical sampling; 1 for off. Default 1."),
  top_n_sigma: z
    .number()
    .max(100)
    .nullish()
    .describe(
      "Extension. Keeps tokens within this many standard deviations below the highest logit; 0 and less for off. Default −1.",
    ),
  min_keep: z
    .int()
    .min(0)
    .max(INT32_MAX)
    .nullish()
    .describe("Extension. Tokens that top_p, min_p, typical_p and XTC keep at least. Default 0."),
  xtc_probability: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe("Extension. Probability that XTC removes the likeliest tokens at a position; 0 for off. Default 0."),
  xtc_threshold: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe(
      "Extension. XTC removes all tokens of at least this probability but the least likely; above 0.5 for off. Default 0.1.",
    ),
  dynatemp_range: z
    .number()
    .min(0)
    .max(5)
    .nullish()
    .describe("Extension. The temperature follows the entropy within ± this range; 0 for off. Default 0."),
  dynatemp_exponent: z
    .number()
    .min(0)
    .max(10)
    .nullish()
    .describe("Extension. Exponent of the normalized entropy in the dynamic temperature. Default 1."),
  mirostat: z
    .literal([0, 1, 2])
    .nullish()
    .describe(
      "Extension. 1 and 2 for Mirostat and Mirostat 2.0, which take the place of all samplers but penalties, DRY and temperature. Default 0.",
    ),
  mirostat_tau: z
    .number()
    .min(0)
    .max(100)
    .nullish()
    .describe("Extension. Mirostat's target entropy in bits. Default 5."),
  mirostat_eta: z.number().min(0).max(1).nullish().describe("Extension. Mirostat's learning rate. Default 0.1."),
  repeat_penalty: z
    .number()
    .gt(0)
    .max(2)
    .nullish()
    .describe("Extension. repetition_penalty over the last `repeat_last_n` tokens of prompt and answer."),
  repeat_last_n: lastTokens
    .nullish()
    .describe(
      "Extension. The three penalties count the last tokens of prompt and answer, this many; −1 for all, 0 for none. " +
        "Default: 64 beside repeat_penalty, otherwise each counts as it does by itself.",
    ),
  dry_multiplier: z
    .number()
    .min(0)
    .max(100)
    .nullish()
    .describe("Extension. DRY's penalty of a token that continues a repetition; 0 for off. Default 0."),
  dry_base: z
    .number()
    .min(1)
    .max(100)
    .nullish()
    .describe("Extension. Factor of DRY's penalty for each repeated token beyond the allowed length. Default 1.75."),
  dry_allowed_length: z
    .int()
    .min(0)
    .max(INT32_MAX)
    .nullish()
    .describe("Extension. Repetitions of at least this many tokens are penalized by DRY. Default 2."),
  dry_penalty_last_n: lastTokens
    .nullish()
    .describe(
      "Extension. Last tokens of prompt and answer in which DRY finds repetitions; −1 for all, 0 for none. Default 64.",
    ),
  dry_sequence_breakers: boundedList(breaker, { max: MAX_BREAKERS })
    .nullish()
    .describe('Extension. Texts that no repetition of DRY extends across. Default: "\\n", ":", "\\"" and "*".'),
};
