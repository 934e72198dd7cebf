import { z } from "zod";
import { isFalse, refusedField } from "../refused-fields.ts";

/** The vendor fields of a request. */
export const vendorFields = z.object({
  dry_run: z
    .boolean()
    .nullish()
    .describe("Return the rendered prompt, its tokens and the possible cost at each tier, and generate nothing."),
});

/** The vendor fields of endpoints without dry runs: ignoring `dry_run` there would run and charge the request. */
export const vendorFieldsOfInputs = z.object({
  dry_run: refusedField("only chat completions and completions support dry runs.", isFalse),
});

const nano = z.int().min(0);
const cost = z.object({
  input: nano.describe("Cost of the prompts without cached tokens."),
  most: nano.describe("Cost with the most output tokens that are possible."),
});

export const dryRunResponse = z.object({
  object: z.literal("nightshift.dry_run"),
  model: z.string(),
  prompts: z.array(z.object({ text: z.string(), tokens: z.int() })),
  prompt_tokens: z.int(),
  max_completion_tokens: z
    .int()
    .describe("Output tokens of all choices together: the requested ones, or those that fit in the context."),
  cost_nano_usd: z
    .object({ priority: cost, default: cost, flex: cost, batch: cost })
    .describe("Cost by tier, in billionths of a USD."),
});
export type DryRunResponse = z.infer<typeof dryRunResponse>;
