import { z } from "zod";
import { isFalse, refusedField } from "../refused.ts";

/** Fields of requests that are this server's own. */
export const vendorFields = z.object({
  dry_run: z
    .boolean()
    .nullish()
    .describe("Tell the rendered prompt, its tokens and what the request may cost at each tier; nothing is generated."),
});

/** The same where nothing is generated: a request that was meant to be dry shall not run, and be charged. */
export const vendorFieldsOfInputs = z.object({
  dry_run: refusedField("dry runs are of chat completions and completions alone.", isFalse),
});

const nano = z.int().min(0);
const cost = z.object({
  input: nano.describe("Of the prompts, none of them cached."),
  most: nano.describe("With as many output tokens as there may be."),
});

export const dryRunResponse = z.object({
  object: z.literal("nightshift.dry_run"),
  model: z.string(),
  prompts: z.array(z.object({ text: z.string(), tokens: z.int() })),
  prompt_tokens: z.int(),
  max_completion_tokens: z.int().describe("Of all choices: what was asked for, or what the context has room for."),
  cost_nano_usd: z
    .object({ priority: cost, default: cost, flex: cost, batch: cost })
    .describe("By tier, in billionths of a USD."),
});
export type DryRunResponse = z.infer<typeof dryRunResponse>;
