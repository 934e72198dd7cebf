import { type ChatResponse, chatRequest } from "../../openapi/generation/chat.ts";
import type { Usage } from "../../openapi/generation/usage.ts";
import { validate } from "../../openapi/generation/validate.ts";
import type { Unwritten } from "../../openapi/json/json-pieces.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { chatSubmission, tierOf } from "../generation/engine-request.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import type { WholeChoice, WholeToolCall } from "../generation/output/body-sink.ts";
import { ChatChunks } from "../generation/output/chat-chunks.ts";
import { lateChatLogprobs } from "../generation/output/chat-logprobs.ts";
import type { AnswerIdentity } from "../generation/output/chunk-format.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { toolChoice } from "../grammar/tool-choice.ts";

/** POST /v1/chat/completions. */
export function chatDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/v1/chat/completions", idPrefix: "chatcmpl", read: chatReader(limits) };
}

export function chatReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = chatRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const includeUsage = body.stream_options?.include_usage ?? false;
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      submissions: [chatSubmission(body)],
      toolChoice: toolChoice(body),
      stream: body.stream ?? false,
      includeUsage,
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new ChatChunks(identity, includeUsage),
      whole: chatCompletion,
    };
  };
}

function chatCompletion(
  identity: AnswerIdentity,
  choices: readonly WholeChoice[],
  usage: Usage,
): Unwritten<ChatResponse> {
  return {
    id: identity.id,
    object: "chat.completion",
    created: identity.created,
    model: identity.model,
    choices: choices.map(({ text, reasoning, calls, finish, logprobs }, index) => ({
      index,
      message: {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning !== "" && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
      },
      logprobs: logprobs === null ? null : lateChatLogprobs(logprobs),
      finish_reason: finish,
    })),
    usage,
    service_tier: identity.tier,
    system_fingerprint: identity.fingerprint,
  };
}

function toolCall({ id, name, arguments: args }: WholeToolCall) {
  return { id, type: "function" as const, function: { name, arguments: args } };
}
