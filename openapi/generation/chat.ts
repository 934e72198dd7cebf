import { z } from "zod";
import { ignoredField } from "../ignored-fields.ts";
import { metadata } from "../metadata.ts";
import { isEmptyList, isOneOf, refusedField, refusedValue } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { answerMark } from "./answer-mark.ts";
import { vendorFields } from "./dry-run.ts";
import { chatLogprobs, MOST_CHAT_LOGPROBS } from "./logprobs.ts";
import { chatMessages } from "./message.ts";
import { reasoningFields } from "./reasoning-fields.ts";
import { oneConstraint, responseFormat } from "./response-format.ts";
import { crossChecks, samplingFields, tokenBudget } from "./sampling-fields.ts";
import { answerToolCall, toolCallDelta, toolChecks, toolFields } from "./tools.ts";
import { finishReason, usage, usedTier } from "./usage.ts";

const FUNCTIONS = "it is deprecated and not supported; use tools.";

/** POST /v1/chat/completions. Fields that are not named here are ignored. */
export function chatRequest(limits: RequestLimits) {
  return z
    .object({
      model: z.string(),
      messages: chatMessages(limits),
      max_completion_tokens: tokenBudget.nullish().describe("Default: until the context is full."),
      max_tokens: tokenBudget.nullish().describe("Deprecated; max_completion_tokens has precedence."),
      ...samplingFields(limits),
      nightshift: vendorFields.nullish(),
      ...reasoningFields,
      verbosity: z.enum(["low", "medium", "high"]).nullish().describe("Passed to the chat template as `verbosity`."),
      metadata: metadata.nullish().describe("Kept with a stored completion; without `store` it has no effect."),
      store: z.boolean().nullish().describe("Keep the completion with its messages; see stored chat completions."),
      safety_identifier: ignoredField(z.string().max(64).nullish()),
      prompt_cache_key: ignoredField(
        z.string().nullish(),
        "Accepted and ignored: prefixes are found by their content.",
      ),
      prompt_cache_retention: ignoredField(z.unknown().optional()),
      prompt_cache_options: ignoredField(z.unknown().optional()),
      prediction: ignoredField(z.unknown().optional(), "Accepted and ignored: it would only speed up the same answer."),
      ...toolFields,
      modalities: refusedValue('only ["text"] is supported.', isTextOnly),
      response_format: responseFormat,
      logprobs: z.boolean().nullish().describe("Return the log probability of each token of the content."),
      top_logprobs: z
        .int()
        .min(0)
        .max(MOST_CHAT_LOGPROBS)
        .nullish()
        .describe("Also return this many of the most likely tokens at each position. Only with `logprobs: true`."),
      functions: refusedField(FUNCTIONS, isEmptyList),
      function_call: refusedField(FUNCTIONS, isOneOf("none", "auto")),
      audio: refusedField("audio is not supported."),
      web_search_options: refusedField("web search is not supported."),
      moderation: refusedField("moderation is not supported."),
    })
    .check(crossChecks((body) => body.max_completion_tokens ?? body.max_tokens))
    .check(oneConstraint)
    .check(toolChecks)
    .check(({ value, issues }) => {
      if (value.top_logprobs == null || value.logprobs === true) return;
      const message = "it is only allowed when 'logprobs' is true";
      issues.push({ code: "custom", input: value, path: ["top_logprobs"], message });
    });
}
export type ChatRequest = z.infer<ReturnType<typeof chatRequest>>;

function isTextOnly(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => item === "text");
}

const reasoning = z.string().optional().describe("Extension: the reasoning text of the model.");

export const chatResponse = z.object({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal("assistant"),
        content: z.string().nullable().describe("null when the model wrote only tool calls."),
        refusal: z.null(),
        reasoning_content: reasoning,
        tool_calls: z.array(answerToolCall).optional(),
      }),
      logprobs: chatLogprobs,
      finish_reason: finishReason,
    }),
  ),
  usage,
  service_tier: usedTier,
  system_fingerprint: z.string(),
  nightshift: answerMark,
});
export type ChatResponse = z.infer<typeof chatResponse>;

export const chatChunk = z.object({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.int(),
  model: z.string(),
  service_tier: usedTier,
  system_fingerprint: z.string(),
  nightshift: answerMark,
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        reasoning_content: reasoning,
        tool_calls: z.array(toolCallDelta).optional(),
      }),
      logprobs: chatLogprobs,
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
});
export type ChatChunk = z.infer<typeof chatChunk>;
