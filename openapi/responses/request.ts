import { z } from "zod";
import { boundedList, boundedMap } from "../bounded-schema.ts";
import { vendorFields } from "../generation/dry-run.ts";
import { MOST_CHAT_LOGPROBS } from "../generation/logprobs.ts";
import { reasoningFields } from "../generation/reasoning-fields.ts";
import { crossChecks, samplingFields, tokenBudget } from "../generation/sampling-fields.ts";
import { ignoredField } from "../ignored-fields.ts";
import { isOneOf, refusedField, refusedValue } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { inputItems } from "./input-item.ts";
import { textFormat, verbosity } from "./text-format.ts";
import { backgroundChecks, responseChecks } from "./tool-checks.ts";
import { responseToolChoice, responseTools } from "./tools.ts";

const MAX_METADATA_PAIRS = 16;
const MAX_INCLUDED = 32;
const MAX_STATE_ID = 128;

const stateId = z.string().min(1).max(MAX_STATE_ID);
const ECHOED = "Accepted and ignored: the response repeats it.";
const FORM = "it is not supported here; use text.format.";

const summary = z.enum(["auto", "concise", "detailed"]).nullish();

/** The fields that make the prompt, of POST /v1/responses, and in part of the paths below it. */
export function promptFields(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  return {
    input: z
      .union([text, inputItems(limits)])
      .nullish()
      .describe("A text is one message of the user."),
    instructions: text.nullish().describe("A system message before everything. Not kept for later responses."),
    previous_response_id: stateId
      .nullish()
      .describe("Continue this response: its context, its input and its output go before the input."),
    conversation: z
      .union([stateId, z.object({ id: stateId })])
      .nullish()
      .describe("Continue this conversation. Input and output are added to it."),
    tools: responseTools.nullish().describe("Functions and custom tools. Tools of other types are skipped."),
    tool_choice: responseToolChoice
      .nullish()
      .describe("Default `auto`. A grammar enforces `required`, a named tool and `allowed_tools`."),
    parallel_tool_calls: z.boolean().nullish().describe("`false`: at most one call per answer. Default true."),
    reasoning: z
      .object({
        effort: reasoningFields.reasoning_effort,
        summary: summary.describe("Also return the reasoning as one part of the summary, in full."),
        generate_summary: summary.describe("Deprecated; another name of summary."),
      })
      .nullish(),
    text: z
      .object({
        format: textFormat.nullish(),
        verbosity: verbosity.nullish().describe("Passed to the chat template as `verbosity`."),
      })
      .nullish(),
    truncation: z
      .enum(["auto", "disabled"])
      .nullish()
      .describe("`auto`: drop the oldest turns of a prompt that is too long, instead of refusing it."),
  };
}

/** POST /v1/responses. Fields that are not named here are ignored. */
export function responsesRequest(limits: RequestLimits) {
  const { reasoning_effort: _effort, ...reasoningBudgets } = reasoningFields;
  return z
    .object({
      model: z.string(),
      ...samplingFields(limits),
      ...promptFields(limits),
      max_output_tokens: tokenBudget
        .nullish()
        .describe("With those of the reasoning. Default: until the context is full."),
      max_tool_calls: ignoredField(
        z.int().min(1).nullish(),
        `${ECHOED} It bounds hosted tools, of which there are none.`,
      ),
      store: z.boolean().nullish().describe("Keep the response, so that it can be read and continued. Default true."),
      background: z
        .boolean()
        .nullish()
        .describe(
          "`true`: answer at once, and generate later, as a batch line. GET /v1/responses/{id} has the answer, and with `stream` its events.",
        ),
      include: boundedList(z.string().max(64), { max: MAX_INCLUDED })
        .nullish()
        .describe("`reasoning.encrypted_content` and `message.output_text.logprobs`; other values are ignored."),
      top_logprobs: z
        .int()
        .min(0)
        .max(MOST_CHAT_LOGPROBS)
        .nullish()
        .describe("Return log probabilities, with this many of the most likely tokens at each position."),
      stream_options: z
        .object({
          include_obfuscation: z.boolean().nullish().describe("Accepted and ignored: events are not padded."),
        })
        .nullish()
        .describe("Only with `stream: true`."),
      metadata: boundedMap(z.string().max(64), z.string().max(512), MAX_METADATA_PAIRS)
        .nullish()
        .describe(`Kept with the response; at most ${MAX_METADATA_PAIRS} pairs.`),
      nightshift: vendorFields.nullish(),
      ...reasoningBudgets,
      n: refusedValue("a response is one answer; omit it or send 1.", isOneOf(1)),
      user: ignoredField(z.string().max(512).nullish(), ECHOED),
      safety_identifier: ignoredField(z.string().max(64).nullish(), ECHOED),
      prompt_cache_key: ignoredField(z.string().max(512).nullish(), `${ECHOED} Prefixes are found by their content.`),
      prompt_cache_retention: ignoredField(z.unknown().optional()),
      prompt_cache_options: ignoredField(z.unknown().optional()),
      context_management: boundedList(
        z.object({
          type: z.literal("compaction"),
          compact_threshold: z.int().min(1).nullish().describe("Tokens; default: three quarters of the context."),
        }),
        { max: 1 },
      )
        .nullish()
        .describe("Compact a prompt that has more tokens, before the answer. The output begins with the compaction."),
      prompt: refusedField("stored prompts are not supported; use instructions and input."),
      moderation: refusedField("moderation is not supported."),
      grammar: refusedField("it is not supported here; use /v1/chat/completions."),
      json_schema: refusedField(FORM),
      response_format: refusedField(FORM),
    })
    .check(crossChecks((body) => body.max_output_tokens))
    .check(responseChecks)
    .check(backgroundChecks)
    .check(({ value, issues }) => {
      if (value.input != null || value.previous_response_id != null || value.conversation != null) return;
      const params = { code: "missing_required_parameter" };
      const message = "Missing required parameter: 'input'.";
      issues.push({ code: "custom", input: value, path: ["input"], params, message });
    });
}
export type ResponsesRequest = z.infer<ReturnType<typeof responsesRequest>>;

/** POST /v1/responses/input_tokens. */
export function inputTokensRequest(limits: RequestLimits) {
  const { reasoning_effort: _effort, ...reasoningBudgets } = reasoningFields;
  return z
    .object({
      model: z.string().nullish().describe("Optional on a server with one model."),
      ...promptFields(limits),
      ...reasoningBudgets,
    })
    .check(responseChecks);
}
export type InputTokensRequest = z.infer<ReturnType<typeof inputTokensRequest>>;
