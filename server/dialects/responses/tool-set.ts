import type { FunctionTool } from "../../../engine/protocol/prompt.ts";
import { allowedNames, type OwnTool, toolsOf } from "../../../openapi/responses/tool-checks.ts";
import type { ResponseToolChoice, UsedTool } from "../../../openapi/responses/tools.ts";
import type { ToolUse } from "../../generation/turn.ts";
import { CUSTOM_PARAMETERS } from "./output/custom-input.ts";

type ToolBody = Parameters<typeof toolsOf>[0] & {
  tool_choice?: ResponseToolChoice | null | undefined;
  parallel_tool_calls?: boolean | null | undefined;
};

/** The tools of one request. */
export interface ToolSet {
  /** Those in the prompt: none where no call is allowed. */
  prompt: FunctionTool[];
  use: ToolUse;
  /** Those that the response repeats. */
  used: UsedTool[];
  /** The names of custom tools, whose calls come back as text. */
  custom: ReadonlySet<string>;
}

/** The tools of a valid body. */
export function toolSet(body: ToolBody): ToolSet {
  const tools = toolsOf(body);
  const use = toolUse(body);
  const barred = body.tool_choice === "none" || use.allowed?.length === 0;
  return {
    prompt: barred ? [] : tools.map(functionTool),
    use,
    used: tools.map(usedTool),
    custom: new Set(tools.flatMap(({ type, name }) => (type === "custom" ? [name] : []))),
  };
}

function toolUse({ tool_choice: choice, parallel_tool_calls }: ToolBody): ToolUse {
  const parallel = parallel_tool_calls ?? true;
  if (typeof choice !== "object" || choice === null)
    return { allowed: null, required: choice === "required", parallel };
  if (choice.type !== "allowed_tools") return { allowed: [choice.name], required: true, parallel };
  return { allowed: allowedNames(choice), required: choice.mode === "required", parallel };
}

function functionTool(tool: OwnTool): FunctionTool {
  const { name, description } = tool;
  const described = description != null && { description };
  if (tool.type === "custom") {
    // Strict: the input can be told from other arguments while the call is written.
    return { type: "function", function: { name, ...described, parameters: CUSTOM_PARAMETERS, strict: true } };
  }
  const { parameters, strict } = tool;
  return {
    type: "function",
    function: { name, ...described, ...(parameters != null && { parameters }), ...(strict != null && { strict }) },
  };
}

function usedTool(tool: OwnTool): UsedTool {
  const { name } = tool;
  if (tool.type === "custom") {
    const { type, description, format } = tool;
    return { type, name, ...(description != null && { description }), ...(format != null && { format }) };
  }
  const { type, description = null, parameters = null, strict = null } = tool;
  return { type, name, description, parameters, strict };
}
