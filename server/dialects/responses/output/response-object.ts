import type { SequenceFinish } from "../../../../engine/protocol/output.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import { markOf } from "../../../../openapi/generation/answer-mark.ts";
import type { Usage } from "../../../../openapi/generation/usage.ts";
import type { OutputItem } from "../../../../openapi/responses/item.ts";
import type { ResponsesRequest } from "../../../../openapi/responses/request.ts";
import type { ResponseObject } from "../../../../openapi/responses/response.ts";
import type { TextFormat } from "../../../../openapi/responses/text-format.ts";
import type { UsedTool } from "../../../../openapi/responses/tools.ts";
import type { AnswerEnd } from "../../../generation/output/sink.ts";
import type { AnswerIdentity } from "../../../generation/output/stream-format.ts";

/** A response in progress, from a valid body. */
export function begunResponse(
  body: ResponsesRequest,
  { used }: { used: UsedTool[] },
  stored: boolean,
  { id, created, model, tier, upstream }: AnswerIdentity,
): ResponseObject {
  const { conversation, reasoning, text } = body;
  return {
    id,
    object: "response",
    created_at: created,
    completed_at: null,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    conversation: conversation == null ? null : { id: conversationId(conversation) },
    reasoning: { effort: reasoning?.effort ?? null, summary: summaryOf(body) },
    store: stored,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    text: { format: usedFormat(text?.format), ...(text?.verbosity != null && { verbosity: text.verbosity }) },
    tool_choice: body.tool_choice ?? "auto",
    tools: used,
    truncation: body.truncation ?? "disabled",
    service_tier: tier,
    metadata: body.metadata ?? {},
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    user: body.user ?? null,
    usage: null,
    ...markOf(upstream),
  };
}

/** The response of a complete answer: incomplete where a bound on its tokens cut it short. */
export function endedResponse(
  begun: ResponseObject,
  output: OutputItem[],
  reason: SequenceFinish["reason"],
  { usage, times }: AnswerEnd,
): ResponseObject {
  const cut = reason === "length";
  const seconds = Math.round((times.queue + times.prefill + times.decode) / 1000);
  return {
    ...begun,
    status: cut ? "incomplete" : "completed",
    completed_at: cut ? null : begun.created_at + seconds,
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    output,
    usage: responseUsage(usage),
  };
}

/** The response of an answer that failed after its first byte, with the output until then. */
export function failedResponse(begun: ResponseObject, output: OutputItem[], error: ApiError): ResponseObject {
  const code = error.status >= 500 ? "server_error" : (error.code ?? "server_error");
  return { ...begun, status: "failed", error: { code, message: error.message }, output };
}

export function conversationId(conversation: NonNullable<ResponsesRequest["conversation"]>): string {
  return typeof conversation === "string" ? conversation : conversation.id;
}

/** The kind of summary that a body asks for; null for none. */
export function summaryOf({ reasoning }: Pick<ResponsesRequest, "reasoning">): string | null {
  return reasoning?.summary ?? reasoning?.generate_summary ?? null;
}

function usedFormat(format: TextFormat | null | undefined): ResponseObject["text"]["format"] {
  if (format?.type !== "json_schema") return format ?? { type: "text" };
  const { type, name, description, schema, strict } = format;
  return {
    type,
    name: name ?? "answer",
    ...(description != null && { description }),
    schema: schema ?? { type: "object" },
    strict: strict ?? null,
  };
}

export function responseUsage(usage: Usage): NonNullable<ResponseObject["usage"]> {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens, cache_write_tokens: 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details.reasoning_tokens },
    total_tokens: usage.total_tokens,
  };
}
