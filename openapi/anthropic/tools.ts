import { z } from "zod";
import { checkSchema } from "../../grammar/checked-grammar.ts";
import { UnsupportedSchema } from "../../grammar/schema/unsupported-schema.ts";
import { anyObject } from "../any-object.ts";
import { boundedTools, MAX_DESCRIPTION, MAX_TOOLS, MOST_TOOLS_CHARACTERS } from "../generation/tools.ts";
import type { Refusal } from "../refused-fields.ts";

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, { error: "expected 1 to 128 of a-z, A-Z, 0-9, _ and -" });

/** A tool that the client runs, or with another type one that Anthropic describes to its models: those have no schema. */
const tool = z
  .object({
    name: toolName.nullish().describe("Required for tools of type `custom`."),
    type: z.string().max(64).nullish().describe("Tools of other types than `custom` are left out of the prompt."),
    description: z.string().max(MAX_DESCRIPTION).nullish(),
    input_schema: anyObject().nullish().describe("JSON schema of the input. Required for tools of type `custom`."),
    strict: z
      .boolean()
      .nullish()
      .describe("`true`: the input of every call matches the schema; a keyword that cannot be enforced is refused."),
  })
  .check((context) => {
    const { value } = context;
    if (!isClientTool(value)) return;
    const missing = (["name", "input_schema"] as const).find((field) => value[field] == null);
    if (missing !== undefined) {
      const params = { code: "missing_required_parameter" };
      const message = `Missing required parameter: '${missing}'.`;
      context.issues.push({ code: "custom", input: value, path: [missing], params, message });
      return;
    }
    if (value.strict !== true || value.input_schema == null) return;
    try {
      checkSchema(value.input_schema);
    } catch (error) {
      if (!(error instanceof UnsupportedSchema)) throw error;
      const params: Refusal = { code: "unsupported_value" };
      const path = ["input_schema", ...error.path];
      context.issues.push({ code: "custom", input: value, path, params: { ...params }, message: error.message });
    }
  });
type ToolParam = z.infer<typeof tool>;
export type ClientTool = ToolParam & { name: string };

/** True for a valid tool with a schema. */
export function isClientTool(value: ToolParam): value is ClientTool {
  return value.type == null || value.type === "custom";
}

const serial = { disable_parallel_tool_use: z.boolean().nullish().describe("`true`: at most one call per answer.") };

export const anthropicToolFields = {
  tools: boundedTools(tool, strictSchema)
    .nullish()
    .describe(
      `Tools that the model may call: at most ${MAX_TOOLS}, of ${MOST_TOOLS_CHARACTERS} characters of JSON together.`,
    ),
  tool_choice: z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("auto"), ...serial }),
      z.object({ type: z.literal("any"), ...serial }),
      z.object({ type: z.literal("tool"), name: toolName, ...serial }),
      z.object({ type: z.literal("none") }),
    ])
    .nullish()
    .describe("Default `auto`. A grammar enforces `any` and `tool`."),
};

function strictSchema(tool: unknown): unknown[] {
  const { strict, input_schema: schema }: { strict?: unknown; input_schema?: unknown } = Object(tool);
  return strict === true && schema != null ? [schema] : [];
}

interface ToolBody {
  tools?: z.infer<typeof anthropicToolFields.tools>;
  tool_choice?: z.infer<typeof anthropicToolFields.tool_choice>;
}

/** Rules between the fields above. */
export function anthropicToolChecks(context: z.core.ParsePayload<ToolBody>): void {
  const { tools, tool_choice: choice } = context.value;
  const complain = (path: PropertyKey[], message: string, params?: Record<string, unknown>) =>
    context.issues.push({ code: "custom", input: context.value, path, message, ...(params && { params }) });
  const all = tools ?? [];
  const names = all.map(({ name }) => name);
  const duplicate = names.findIndex((name, index) => name != null && names.indexOf(name) !== index);
  if (duplicate !== -1) complain(["tools", duplicate, "name"], "another tool has the same name");
  if (choice?.type === "any" && !all.some(isClientTool)) {
    complain(["tool_choice"], "it is only allowed when 'tools' are given");
  }
  if (choice?.type !== "tool") return;
  const forced = all.find(({ name }) => name === choice.name);
  if (forced === undefined) complain(["tool_choice", "name"], "there is no such tool");
  else if (!isClientTool(forced)) {
    const message = `tools of type '${forced.type}' are not supported; describe a tool by its input_schema.`;
    complain(["tool_choice", "name"], message, { code: "unsupported_value" });
  }
}
