import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { vendorFields } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/int32.ts";
import { oneConstraint } from "../generation/response-format.ts";
import { samplersField } from "../generation/sampler-order.ts";
import { crossChecks, samplingFields, seedField } from "../generation/sampling-fields.ts";
import { refusedValue } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";

/** Most files of `input_extra`. */
export const MOST_INFILL_FILES = 256;
const MAX_FILE_NAME = 1024;
/** The value of `n_predict` for no bound. */
const UNBOUNDED = -1;

/** POST /infill, with the fields of llama-server. Fields that are not named here are ignored. */
export function infillRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  const budget = z.int().min(UNBOUNDED).max(INT32_MAX).nullish();
  const file = z.object({
    text,
    filename: z.string().max(MAX_FILE_NAME).nullish().describe("Default `tmp`."),
  });
  return z
    .object(samplingFields(limits))
    .omit({ n: true, stream_options: true })
    .extend({
      model: z.string().nullish().describe("Optional on a server with one model."),
      input_prefix: text.describe("The text before the answer."),
      input_suffix: text.describe("The text behind the answer."),
      prompt: text.nullish().describe("The beginning of the answer, which is not repeated in it."),
      input_extra: boundedList(file, { max: MOST_INFILL_FILES })
        .nullish()
        .describe(
          "Other files, the most useful last. Their first tokens are left out where the context has too little room.",
        ),
      n_predict: budget.describe(
        "Most tokens of the answer. 0 only reads the prompt, −1 runs until the context is full. Default −1.",
      ),
      max_tokens: budget.describe("Another name of n_predict."),
      seed: seedField.describe("Equal seeds give equal results of one version of a model; -1 is random."),
      samplers: z
        .preprocess(withoutInfillSampler, samplersField)
        .describe(
          "Extension. Order of the samplers, as in completions. `infill` (i), which editors add, is accepted and not run.",
        ),
      n: refusedValue("only one answer is generated.", (value) => value === 1),
      nightshift: vendorFields.nullish(),
    })
    .check(crossChecks((body) => answerBound(body)))
    .check(oneConstraint)
    .check((context) => {
      const { n_predict, max_tokens } = context.value;
      if (n_predict == null || max_tokens == null || n_predict === max_tokens) return;
      const message = "it is another name of 'n_predict', which has another value";
      context.issues.push({ code: "custom", input: max_tokens, path: ["max_tokens"], message });
    });
}
export type InfillRequest = z.infer<ReturnType<typeof infillRequest>>;

/** llama-server's sampler for this endpoint, and its letter: they would else be refused as unknown. */
const INFILL_SAMPLER = { name: "infill", letter: "i" };

/** True where the field `samplers` of a body names the sampler that is not run. */
export function namesInfillSampler(samplers: unknown): boolean {
  if (typeof samplers === "string") return samplers.includes(INFILL_SAMPLER.letter);
  return Array.isArray(samplers) && samplers.includes(INFILL_SAMPLER.name);
}

function withoutInfillSampler(samplers: unknown): unknown {
  if (typeof samplers === "string") return samplers.replaceAll(INFILL_SAMPLER.letter, "");
  return Array.isArray(samplers) ? samplers.filter((name) => name !== INFILL_SAMPLER.name) : samplers;
}

interface BoundFields {
  n_predict?: number | null | undefined;
  max_tokens?: number | null | undefined;
}

/** Most tokens of the answer; null runs until the context is full. */
export function answerBound({ n_predict, max_tokens }: BoundFields): number | null {
  const bound = n_predict ?? max_tokens ?? UNBOUNDED;
  return bound === UNBOUNDED ? null : bound;
}

const count = z.int();
const milliseconds = z.number().describe("Milliseconds.");
const perSecond = z.number().nullable().describe("Tokens per second; null where no time passed.");

/** The whole response, and the last event of a stream, whose `content` is empty. */
export const infillResponse = z.object({
  index: z.literal(0),
  content: z.string(),
  stop: z.literal(true),
  model: z.string(),
  tokens_predicted: count.describe("Tokens of the answer."),
  tokens_evaluated: count.describe("Tokens of the prompt, those of the prefix cache included."),
  stop_type: z
    .enum(["eos", "limit", "word"])
    .describe("The end: an end token, a bound on tokens, or a text of `stop`."),
  stopping_word: z.string().describe("The text of `stop` that ended the answer, or empty."),
  timings: z.object({
    cache_n: count.describe("Tokens of the prompt that the prefix cache had."),
    prompt_n: count.describe("Tokens of the prompt that were computed."),
    prompt_ms: milliseconds,
    prompt_per_second: perSecond,
    predicted_n: count,
    predicted_ms: milliseconds,
    predicted_per_second: perSecond,
  }),
});
export type InfillResponse = z.infer<typeof infillResponse>;

/** The other events of a stream. */
export const infillPiece = z.object({ index: z.literal(0), content: z.string(), stop: z.literal(false) });
export type InfillPiece = z.infer<typeof infillPiece>;

/** Each event of a stream. */
export const infillEvent = z.union([infillPiece, infillResponse]);
