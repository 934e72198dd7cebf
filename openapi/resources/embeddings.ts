import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { answerMark } from "../generation/answer-mark.ts";
import { vendorFieldsOfInputs } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/int32.ts";
import { tokenList } from "../generation/token-list.ts";
import { ignoredField } from "../ignored-fields.ts";
import { refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";

/** Most inputs of one request. */
export const MOST_INPUTS = 2048;

const ENCODING_FORMATS = ["float", "base64"] as const;
export type EncodingFormat = (typeof ENCODING_FORMATS)[number];

/** `service_tier` of endpoints without the field in OpenAI's API; their responses do not name the tier. */
export const askedTier = z
  .enum(["auto", "default", "flex", "priority", "fast", "scale"])
  .nullish()
  .describe(
    "Extension. `auto` and `scale` are served as `default`, `fast` as `priority`; a route may serve `auto` as `flex`.",
  );

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
      .describe(
        "A string, strings, token ids or lists of token ids. No input may be empty; at most 300,000 tokens together.",
      ),
    encoding_format: z
      .enum(ENCODING_FORMATS)
      .nullish()
      .describe("`base64` encodes the vector as little-endian float32. Default `float`."),
    dimensions: z
      .int()
      .min(1)
      .max(INT32_MAX)
      .nullish()
      .describe(
        "Keep this many numbers of each vector, the first ones, scaled to length 1. At most the width of the model's vectors.",
      ),
    service_tier: askedTier,
    user: ignoredField(z.string().nullish()),
    truncate_prompt_tokens: refusedField("inputs are not truncated; shorten those that are too long."),
    nightshift: vendorFieldsOfInputs.nullish(),
  });
}
export type EmbeddingsRequest = z.infer<ReturnType<typeof embeddingsRequest>>;

/** The usage of embeddings and ranks, which generate no tokens. */
export const inputUsage = z.object({ prompt_tokens: z.int().min(0), total_tokens: z.int().min(0) });

export const embeddingsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int().min(0),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe("A vector of length 1; a string with `encoding_format: base64`."),
    }),
  ),
  model: z.string(),
  usage: inputUsage,
  nightshift: answerMark,
});
