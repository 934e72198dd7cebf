import { z } from "zod";
import { anthropicPageOf } from "./page.ts";

/** A model in Anthropic's form. */
export const modelInfo = z.object({
  type: z.literal("model"),
  id: z.string(),
  display_name: z.string(),
  created_at: z.string().describe("RFC 3339."),
  max_input_tokens: z.int().nullable().describe("null until the model has been loaded once."),
  max_tokens: z.int().nullable().describe("Most tokens of prompt and answer together; null as above."),
  capabilities: z.null(),
});
export type ModelInfo = z.infer<typeof modelInfo>;

export const modelInfoPage = anthropicPageOf(modelInfo);
