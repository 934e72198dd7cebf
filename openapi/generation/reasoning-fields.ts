import { z } from "zod";
import { boundedMap } from "../bounded-schema.ts";
import { INT32_MAX } from "./int32.ts";

const MAX_VARIABLES = 16;
const MAX_VARIABLE_TEXT = 1024;

/** Variables that other fields or the server set: chat_template_kwargs must not bypass the checks of those. */
const TAKEN_NAMES: readonly string[] = "messages tools documents add_generation_prompt bos_token eos_token".split(" ");

const variable = z.union([z.boolean(), z.number(), z.string().max(MAX_VARIABLE_TEXT)]);

const thoughtTokens = z.int().min(-1).max(INT32_MAX).nullish();

/** The amount of reasoning before an answer: the fields of OpenAI, vLLM and llama-server. */
export const reasoningFields = {
  reasoning_effort: z
    .enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])
    .nullish()
    .describe(
      "Mapped to the settings of the chat template: a switch, levels, or a stated budget. `none` and `minimal` turn " +
        "reasoning off where the model allows it. A model without reasoning ignores the value.",
    ),
  thinking_token_budget: thoughtTokens.describe(
    "Extension. Most reasoning tokens; after them the reasoning is closed and the answer begins. -1 for no limit. " +
      "Default: --reasoning-budget.",
  ),
  thinking_budget_tokens: thoughtTokens.describe("Extension. Another name of thinking_token_budget."),
  reasoning_budget_tokens: thoughtTokens.describe("Extension. Another name of thinking_token_budget."),
  chat_template_kwargs: boundedMap(z.string().max(64), variable.nullable(), MAX_VARIABLES)
    .check((context) => {
      const taken = Object.keys(context.value).find((name) => TAKEN_NAMES.includes(name));
      if (taken === undefined) return;
      const message = "another field of the request or the server sets this variable";
      context.issues.push({ code: "custom", input: context.value, path: [taken], message });
    })
    .nullish()
    .describe(
      `Extension. Variables for the chat template, such as \`enable_thinking\`: at most ${MAX_VARIABLES} booleans, ` +
        `numbers or texts of at most ${MAX_VARIABLE_TEXT} characters. They have precedence over reasoning_effort.`,
    ),
};
