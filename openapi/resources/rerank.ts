import { z } from "zod";
import { boundedList } from "../bounded.ts";
import { vendorFieldsOfInputs } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/sampling-fields.ts";
import { refusedField } from "../refused.ts";
import type { RequestLimits } from "../request-limits.ts";
import { askedTier, inputUsage, MOST_INPUTS } from "./embeddings.ts";

/**
 * Characters of the query, as often as there are documents: each is read, and sent to the engine, together with it. They are
 * near a million tokens, and the engine reads 300,000 for one request.
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
      top_n: z.int().min(1).max(INT32_MAX).nullish().describe("Only so many of the best. Default all."),
      return_documents: z.boolean().nullish().describe("Default false."),
      service_tier: askedTier,
      user: z.string().nullish().describe("Taken and ignored."),
      truncate_prompt_tokens: refusedField("a document that is too long is refused, never cut."),
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
  results: z
    .array(
      z.object({
        index: z.int().min(0).describe("Of the document in the request."),
        relevance_score: z.number().describe("As the model gives it; only the order means the same for every model."),
        document: z.object({ text: z.string() }).optional().describe("With return_documents."),
      }),
    )
    .describe("The best first."),
  usage: inputUsage,
});
export type RerankResponse = z.infer<typeof rerankResponse>;
