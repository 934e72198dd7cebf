import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import { answerMark } from "../generation/answer-mark.ts";
import { INT32_MAX } from "../generation/int32.ts";
import { ignoredField } from "../ignored-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { MOST_INPUTS } from "../resources/embeddings.ts";
import { keepAlive, modelName } from "./fields.ts";

const options = ignoredField(anyObject().nullish());

/** POST /api/embed. Fields that are not named here are ignored. */
export function ollamaEmbedRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  return z.object({
    model: modelName,
    input: z
      .union([text, boundedList(text, { max: MOST_INPUTS })])
      .nullish()
      .describe("None loads the model, and with `keep_alive: 0` unloads it."),
    truncate: z
      .boolean()
      .nullish()
      .describe("False: an input that is longer than the context is refused. Default true: its end is cut off."),
    dimensions: z
      .int()
      .min(1)
      .max(INT32_MAX)
      .nullish()
      .describe("Keep this many numbers of each vector, the first ones, scaled to length 1."),
    keep_alive: keepAlive,
    options,
  });
}

/** POST /api/embeddings, the older form. */
export function ollamaEmbeddingsRequest(limits: RequestLimits) {
  return z.object({
    model: modelName,
    prompt: z.string().max(limits.textLength).nullish(),
    keep_alive: keepAlive,
    options,
  });
}

export const ollamaEmbedAnswer = z.object({
  model: z.string().describe("The name in the request."),
  embeddings: z.array(z.array(z.number()).describe("Of length 1.")),
  total_duration: z.int().min(0).optional().describe("Nanoseconds."),
  prompt_eval_count: z.int().min(0).optional(),
  nightshift: answerMark,
});
export type OllamaEmbedAnswer = z.infer<typeof ollamaEmbedAnswer>;

export const ollamaEmbeddingsAnswer = z.object({ embedding: z.array(z.number()).describe("Of length 1.") });
