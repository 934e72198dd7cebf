import { z } from "zod";

const count = z.int().min(0);

export const usage = z.object({
  prompt_tokens: count.describe("Each prompt counts once, for any n."),
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count.describe("Prompt tokens taken from the prefix cache.") }),
  completion_tokens_details: z.object({ reasoning_tokens: count }),
});
export type Usage = z.infer<typeof usage>;

export const finishReason = z.enum(["stop", "length", "tool_calls"]);

/** The tier that was used. */
export const usedTier = z.enum(["priority", "default", "flex"]);
