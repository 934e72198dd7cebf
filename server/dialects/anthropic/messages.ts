import type { FunctionTool, Thinking } from "../../../engine/protocol/prompt.ts";
import { type CountTokensRequest, type MessagesRequest, messagesRequest } from "../../../openapi/anthropic/messages.ts";
import { type ClientTool, isClientTool } from "../../../openapi/anthropic/tools.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import { schemaForm } from "../../generation/answer-form.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import { generationSettings } from "../../generation/generation-settings.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import type { AnswerForm, ToolUse, Turn } from "../../generation/turn.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { conversation } from "./conversation.ts";
import { wholeMessage } from "./message.ts";
import { MessageEvents } from "./message-events.ts";
import type { Reported } from "./reported.ts";
import { skippedTools } from "./skipped-tools.ts";

/** POST /v1/messages. */
export function messagesDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/v1/messages", idPrefix: "msg_", read: messagesReader(limits) };
}

function messagesReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = messagesRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const reported: Reported = { maxTokens: body.max_tokens, thoughts: reportedThoughts(body) };
    return {
      model: body.model,
      ...turnRequest(messagesTurn(body)),
      stream: body.stream ?? false,
      ignored: [...ignoredNames(Object(json), schema), ...skippedTools(body)],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity, requestId) => new MessageEvents(identity, reported, requestId),
      whole: (identity, choices, end) => wholeMessage(identity, choices, end, reported),
    };
  };
}

/** The turn of a valid body. Throws the ApiError of a body whose fields exclude each other. */
function messagesTurn(body: MessagesRequest): Turn {
  const { temperature, top_p, top_k, seed, stop_sequences: stop, service_tier: tier } = body;
  const service_tier = tier === "standard_only" ? ("default" as const) : tier;
  const sampling = { temperature, top_p, top_k, seed, stop, service_tier };
  return {
    ...promptTurn(body),
    settings: generationSettings(sampling, { maxTokens: body.max_tokens, logprobs: null }),
  };
}

/** The part of a turn that is its prompt and its form. Throws the ApiError of a body whose fields exclude each other. */
export function promptTurn(body: CountTokensRequest): Omit<Turn, "settings"> {
  const { tool_choice: choice } = body;
  const said = conversation(body.system, body.messages);
  const form = answerForm(body);
  if (form !== null && said.answerStart !== undefined) {
    const rule = "it is not allowed where the answer continues a last message of the assistant";
    throw invalidRequest("invalid_value", "output_config.format", `Invalid 'output_config.format': ${rule}.`);
  }
  return {
    ...said,
    tools: choice?.type === "none" ? [] : (body.tools ?? []).filter(isClientTool).map(functionTool),
    toolUse: toolUse(choice),
    form,
    thinking: thinkingOf(body),
    variables: {},
  };
}

function functionTool({ name, description, input_schema, strict }: ClientTool): FunctionTool {
  return {
    type: "function",
    function: {
      name,
      ...(description != null && { description }),
      ...(input_schema != null && { parameters: input_schema }),
      ...(strict != null && { strict }),
    },
  };
}

function toolUse(choice: CountTokensRequest["tool_choice"]): ToolUse {
  if (choice == null || choice.type === "none") return { allowed: null, required: false, parallel: true };
  return {
    allowed: choice.type === "tool" ? [choice.name] : null,
    required: choice.type !== "auto",
    parallel: choice.disable_parallel_tool_use !== true,
  };
}

function answerForm({ output_config, output_format }: CountTokensRequest): AnswerForm | null {
  const format = output_config?.format ?? output_format;
  return format == null ? null : schemaForm(format.schema);
}

function thinkingOf({ thinking, output_config }: CountTokensRequest): Thinking {
  const effort = output_config?.effort ?? null;
  switch (thinking?.type) {
    case "enabled":
      // An effort turns reasoning on in templates that have it off.
      return { effort: effort ?? "medium", budget: thinking.budget_tokens };
    case "adaptive":
      return { effort, budget: null };
    default:
      return { effort: "none", budget: null };
  }
}

function reportedThoughts({ thinking }: MessagesRequest): Reported["thoughts"] {
  if (thinking?.type !== "enabled" && thinking?.type !== "adaptive") return "none";
  return thinking.display === "omitted" ? "signature" : "text";
}
