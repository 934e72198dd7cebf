import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { answerMark } from "../generation/answer-mark.ts";
import { vendorFieldsOfInputs } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/int32.ts";
import { ignoredField } from "../ignored-fields.ts";
import { refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { askedTier, inputUsage, MOST_INPUTS } from "./embeddings.ts";

/**
 * Most characters of the query times the number of documents: the query is sent to the engine and read once with each
 * document. They are near a million tokens; the engine reads 300,000 for one request.
 */
export const MOST_QUERY_CHARACTERS = 4 * 1024 * 1024;

/** POST /v1/rerank, in the shape that llama-server and vLLM share. Fields that are not named here are ignored. */
export function rerankRequest(limits: RequestLimits) {
  const text = z.string().min(1).max(limits.textLength);
  return z
    .object({
      model: z.string(),
      query: text,
      documents: boundedList(text, { min: 1, max: MOST_INPUTS }),
      top_n: z
        .int()
        .min(1)
        .max(INT32_MAX)
        .nullish()
        .describe("Return only this many of the best documents. Default: all."),
      return_documents: z.boolean().nullish().describe("Default false."),
      service_tier: askedTier,
      user: ignoredField(z.string().nullish()),
      truncate_prompt_tokens: refusedField("documents are not truncated; shorten those that are too long."),
      nightshift: vendorFieldsOfInputs.nullish(),
    })
    .check((context) => {
      const { query, documents } = context.value;
      if (query.length * documents.length <= MOST_QUERY_CHARACTERS) return;
      const message = `its length times the number of documents must not be more than ${MOST_QUERY_CHARACTERS}`;
      context.issues.push({ code: "custom", input: context.value, path: ["query"], message });
    });
}
export type RerankRequest = z.infer<ReturnType<typeof rerankRequest>>;

export const rerankResponse = z.object({
  object: z.literal("list"),
  model: z.string(),
  nightshift: answerMark,
  results: z
    .array(
      z.object({
        index: z.int().min(0).describe("Index of the document in the request."),
        relevance_score: z
          .number()
          .describe("Score of the model. Its scale depends on the model; only the order is comparable."),
        document: z.object({ text: z.string() }).optional().describe("With `return_documents`."),
      }),
    )
    .describe("Best first."),
  usage: inputUsage,
});
export type RerankResponse = z.infer<typeof rerankResponse>;
