import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { lineMark } from "../generation/answer-mark.ts";
import { usedTier } from "../generation/usage.ts";
import { outputItem } from "./item.ts";
import { verbosity } from "./text-format.ts";
import { responseToolChoice, usedTool } from "./tools.ts";

const count = z.int().min(0);

export const responseUsage = z.object({
  input_tokens: count,
  input_tokens_details: z.object({
    cached_tokens: count.describe("Prompt tokens taken from the prefix cache."),
    cache_write_tokens: z.literal(0),
  }),
  output_tokens: count.describe("With the tokens of the reasoning."),
  output_tokens_details: z.object({ reasoning_tokens: count }),
  total_tokens: count,
});

export const responseStatus = z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]);

const usedFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    name: z.string(),
    description: z.string().optional(),
    schema: anyObject(),
    strict: z.boolean().nullable(),
  }),
]);

/** A response. Every key is always there; settings are those that were used, with the defaults filled in. */
export const responseObject = z.object({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int().describe("Unix seconds."),
  completed_at: z.int().nullable().describe("Unix seconds; null unless the status is `completed`."),
  status: responseStatus,
  background: z.boolean(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.enum(["max_output_tokens", "content_filter"]) }).nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  model: z.string(),
  output: z.array(outputItem),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  conversation: z.object({ id: z.string() }).nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  store: z.boolean().describe("Whether the response can be read later and continued."),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  text: z.object({ format: usedFormat, verbosity: verbosity.optional() }),
  tool_choice: responseToolChoice,
  tools: z.array(usedTool).describe("The tools of the request that the model was told of."),
  truncation: z.enum(["auto", "disabled"]),
  service_tier: usedTier.describe("The tier that was used."),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  user: z.string().nullable(),
  usage: responseUsage.nullable().describe("Null until the end."),
  nightshift: lineMark,
});
export type ResponseObject = z.infer<typeof responseObject>;

export const inputTokens = z.object({ object: z.literal("response.input_tokens"), input_tokens: count });
