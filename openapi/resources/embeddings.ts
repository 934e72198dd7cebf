import { z } from "zod";
import { boundedList } from "../bounded.ts";
import { vendorFieldsOfInputs } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/sampling-fields.ts";
import { tokenList } from "../generation/token-list.ts";
import { refusedField } from "../refused.ts";
import type { RequestLimits } from "../request-limits.ts";

/** Inputs of one request. */
export const MOST_INPUTS = 2048;

export const ENCODING_FORMATS = ["float", "base64"] as const;
export type EncodingFormat = (typeof ENCODING_FORMATS)[number];

/** Tiers that any endpoint takes; the response of an endpoint without the field names none. */
export const askedTier = z
  .enum(["auto", "default", "flex", "priority", "fast", "scale"])
  .nullish()
  .describe("Extension. `auto` and `scale` are served as `default`, `fast` as `priority`.");

/** POST /v1/embeddings. Fields that are not named here are ignored. */
export function embeddingsRequest(limits: RequestLimits) {
  const text = z.string().min(1).max(limits.textLength);
  const tokens = tokenList(limits.promptTokens);
  return z.object({
    model: z.string(),
    input: z
      .union([
        text,
        boundedList(text, { min: 1, max: MOST_INPUTS }),
        tokens,
        boundedList(tokens, { min: 1, max: MOST_INPUTS }),
      ])
      .describe("A string, strings, tokens or token lists; none of them empty, at most 300,000 tokens together."),
    encoding_format: z.enum(ENCODING_FORMATS).nullish().describe("base64 is of little-endian float32. Default float."),
    dimensions: z
      .int()
      .min(1)
      .max(INT32_MAX)
      .nullish()
      .describe(
        "Only the first so many numbers, scaled to length 1 again; at most as many as the model's vectors have.",
      ),
    service_tier: askedTier,
    user: z.string().nullish().describe("Taken and ignored."),
    truncate_prompt_tokens: refusedField("an input that is too long is refused, never cut."),
    nightshift: vendorFieldsOfInputs.nullish(),
  });
}
export type EmbeddingsRequest = z.infer<ReturnType<typeof embeddingsRequest>>;

/** Embeddings and ranks generate nothing. */
export const inputUsage = z.object({ prompt_tokens: z.int().min(0), total_tokens: z.int().min(0) });

export const embeddingsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int().min(0),
      embedding: z.union([z.array(z.number()), z.string()]).describe("Of length 1. A string with base64."),
    }),
  ),
  model: z.string(),
  usage: inputUsage,
});
