import type { FunctionTool } from "../../engine/protocol/prompt.ts";
import { type ChatRequest, chatRequest } from "../../openapi/generation/chat.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { answerForm } from "../generation/answer-form.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import { generationSettings, leavesTier } from "../generation/generation-settings.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { templateVariables, thinkingOf } from "../generation/thinking.ts";
import type { ToolUse, Turn } from "../generation/turn.ts";
import { turnRequest } from "../generation/turn-request.ts";
import { unusedSamplerFields } from "../generation/unused-samplers.ts";
import { turnMessage } from "./chat-messages.ts";
import { ChatChunks, chatCompletion } from "./chat-response.ts";
import { type CompletionStore, completionKeeper } from "./chat-storage.ts";

/** POST /v1/chat/completions. */
export function chatDialect(limits: RequestLimits, completions: CompletionStore): Dialect {
  return { endpoint: "/v1/chat/completions", idPrefix: "chatcmpl-", read: chatReader(limits, completions) };
}

/** Reads bodies of chat completions; `completions` null for those of which only the prompt is used. */
export function chatReader(
  limits: RequestLimits,
  completions: CompletionStore | null = null,
): (body: unknown) => GenerationRequest {
  const schema = chatRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const kept = completions !== null && body.store === true;
    const includeUsage = body.stream_options?.include_usage ?? false;
    return {
      model: body.model,
      ...turnRequest(chatTurn(body)),
      openTier: leavesTier(body.service_tier),
      stream: body.stream ?? false,
      ignored: [
        ...ignoredNames(Object(json), schema),
        ...(body.metadata != null && body.store !== true ? ["metadata"] : []),
        ...unusedSamplerFields(body),
      ],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new ChatChunks(identity, includeUsage),
      whole: chatCompletion,
      ...(kept && {
        reserve: (caller) => completions.reserve(caller),
        keep: completionKeeper(body, completions),
      }),
    };
  };
}

/** The turn of a valid body of chat completions. */
export function chatTurn(body: ChatRequest): Turn {
  return {
    messages: body.messages.map(turnMessage),
    tools: body.tool_choice === "none" ? [] : (body.tools ?? []).flatMap(functionTool),
    toolUse: toolUse(body),
    form: answerForm(body),
    thinking: thinkingOf(body.reasoning_effort, body),
    variables: templateVariables(body),
    settings: generationSettings(body, {
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
      logprobs: body.logprobs === true ? { top: body.top_logprobs ?? 0, prompt: false } : null,
    }),
  };
}

function toolUse({ tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest): ToolUse {
  const common = { parallel: parallel ?? true };
  if (typeof choice !== "object" || choice === null || choice.type === "custom") {
    return { allowed: null, required: choice === "required", ...common };
  }
  if (choice.type === "function") return { allowed: [choice.function.name], required: true, ...common };
  const { mode, tools } = choice.allowed_tools;
  return { allowed: tools.map((tool) => tool.function.name), required: mode === "required", ...common };
}

/** The tool in prompts; none for one of a type that is not supported. */
export function functionTool(tool: NonNullable<ChatRequest["tools"]>[number]): FunctionTool[] {
  if (tool.type !== "function") return [];
  const { name, description, parameters, strict } = tool.function;
  return [
    {
      type: "function",
      function: {
        name,
        ...(description != null && { description }),
        ...(parameters != null && { parameters }),
        ...(strict != null && { strict }),
      },
    },
  ];
}
