import type { FunctionTool } from "../../engine/protocol/prompt.ts";
import type { JsonSchema } from "../../grammar/schema/keywords.ts";
import type { ChatRequest } from "../../openapi/generation/chat.ts";

const ANY_OBJECT: JsonSchema = { type: "object" };

/** The rules of a request for calls of tools. */
export interface ToolChoice {
  /** The tools that may be called; the grammar is made of these. */
  callable: FunctionTool[];
  /** True where the answer must be a call; else it may be text. */
  required: boolean;
  /** True where some tools of the prompt may not be called. */
  restricted: boolean;
  /** True where several calls are allowed. */
  parallel: boolean;
  /** The JSON schema of an answer without a call; null for any text. */
  answer: JsonSchema | null;
}

/**
 * The tools in the prompt. These are all tools, since a prompt that changes with the choice would share no prefix with the
 * one before. With `none` the prompt has none, since models call the tools of their prompt.
 */
export function offeredTools({ tools, tool_choice: choice }: ChatRequest): FunctionTool[] {
  if (choice === "none") return [];
  return (tools ?? []).flatMap((tool) => (tool.type === "function" ? [functionTool(tool.function)] : []));
}

/** Null where no tool is offered. */
export function toolChoice(body: ChatRequest): ToolChoice | null {
  const offered = offeredTools(body);
  if (offered.length === 0) return null;
  const { tool_choice: choice } = body;
  const common = { parallel: body.parallel_tool_calls ?? true, answer: answerSchema(body) };
  if (typeof choice !== "object" || choice === null || choice.type === "custom") {
    return { callable: offered, required: choice === "required", restricted: false, ...common };
  }
  const names =
    choice.type === "function" ? [choice.function.name] : choice.allowed_tools.tools.map((tool) => tool.function.name);
  const callable = offered.filter((tool) => names.includes(tool.function.name));
  const required = choice.type === "function" || choice.allowed_tools.mode === "required";
  return { callable, required, restricted: callable.length < offered.length, ...common };
}

function answerSchema({ response_format: format, json_schema }: ChatRequest): JsonSchema | null {
  if (json_schema != null) return json_schema;
  if (format?.type === "json_schema") return format.json_schema.schema ?? ANY_OBJECT;
  return format?.type === "json_object" ? ANY_OBJECT : null;
}

type Described = Extract<NonNullable<ChatRequest["tools"]>[number], { type: "function" }>["function"];

function functionTool({ name, description, parameters, strict }: Described): FunctionTool {
  return {
    type: "function",
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  };
}
