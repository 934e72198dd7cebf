import { z } from "zod";
import { boundedMap } from "../bounded.ts";
import { INT32_MAX } from "./sampling-fields.ts";

const MAX_VARIABLES = 16;
const MAX_VARIABLE_TEXT = 1024;

/** What a request says by other fields, or what the server itself sets: kwargs must not go around their checks. */
const TAKEN_NAMES: readonly string[] = "messages tools documents add_generation_prompt bos_token eos_token".split(" ");

const variable = z.union([z.boolean(), z.number(), z.string().max(MAX_VARIABLE_TEXT)]);

const thoughtTokens = z.int().min(-1).max(INT32_MAX).nullish();

/** How much a model shall think before it answers: OpenAI's field, and those of vLLM and llama-server. */
export const reasoningFields = {
  reasoning_effort: z
    .enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])
    .nullish()
    .describe(
      "Mapped to what the model's template has: a switch, levels, or a budget it tells. `none` and `minimal` turn " +
        "thoughts off where they can be. A model that does not think answers any value.",
    ),
  thinking_token_budget: thoughtTokens.describe(
    "Extension. Most tokens of the thoughts; then they are closed and the answer begins. -1 is without bound. " +
      "Default --reasoning-budget.",
  ),
  thinking_budget_tokens: thoughtTokens.describe("Extension. Another name of thinking_token_budget."),
  reasoning_budget_tokens: thoughtTokens.describe("Extension. Another name of thinking_token_budget."),
  chat_template_kwargs: boundedMap(z.string().max(64), variable.nullable(), MAX_VARIABLES)
    .check((context) => {
      const taken = Object.keys(context.value).find((name) => TAKEN_NAMES.includes(name));
      if (taken === undefined) return;
      const message = "the request's other fields say this";
      context.issues.push({ code: "custom", input: context.value, path: [taken], message });
    })
    .nullish()
    .describe(
      `Extension. Variables for the model's template, such as \`enable_thinking\`: up to ${MAX_VARIABLES} booleans, ` +
        `numbers or texts of ${MAX_VARIABLE_TEXT} characters. They go before what reasoning_effort sets.`,
    ),
};
