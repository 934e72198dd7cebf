import { z } from "zod";
import { checkSchema, MOST_SCHEMA_CHARACTERS } from "../../grammar/checked-grammar.ts";
import { isLongerThan } from "../../grammar/schema/json-length.ts";
import { UnsupportedSchema } from "../../grammar/schema/unsupported-schema.ts";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import type { Refusal } from "../refused-fields.ts";

/** Most tools of a request. */
export const MAX_TOOLS = 128;
export const MAX_DESCRIPTION = 65_536;
/** Most characters of all tools of a request as JSON, which go to the engine: 128 of 8 KiB, more than any context holds. */
export const MOST_TOOLS_CHARACTERS = 1024 * 1024;
/** Most members of all their objects: 128 tools of 85 properties with type and description. Each takes a microsecond in the engine. */
export const MOST_TOOLS_MEMBERS = 32_768;

const functionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: "expected 1 to 64 of a-z, A-Z, 0-9, _ and -" });
const jsonSchema = anyObject();

/** The fields of a function beside its name. */
export const functionFields = {
  description: z.string().max(MAX_DESCRIPTION).nullish(),
  parameters: jsonSchema.nullish().describe("JSON schema of the arguments. Default: no arguments."),
  strict: z
    .boolean()
    .nullish()
    .describe("`true`: the arguments of every call match the schema; a keyword that cannot be enforced is refused."),
};

const described = z.object({ name: functionName, ...functionFields }).check(strictCheck);

interface DescribedFunction {
  strict?: boolean | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
}

/** Refuses a strict function whose schema cannot be enforced. */
export function strictCheck(context: z.core.ParsePayload<DescribedFunction>): void {
  const { strict, parameters } = context.value;
  if (strict !== true || parameters == null) return;
  try {
    checkSchema(parameters);
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error;
    const params: Refusal = { code: "unsupported_value" };
    const path = ["parameters", ...error.path];
    context.issues.push({ code: "custom", input: parameters, path, params: { ...params }, message: error.message });
  }
}

const strictTool = z.object({ function: z.object({ strict: z.literal(true), parameters: jsonSchema }) });
const functionTool = z.object({ type: z.literal("function"), function: described });

/** Types of tools of OpenAI's API that are not supported: refused by name. */
const foreignTool = z
  .object({ type: z.literal("custom") })
  .check((context) => {
    const params: Refusal = { code: "unsupported_value" };
    const message = "tools of type 'custom' are not supported; use 'function'.";
    context.issues.push({ code: "custom", input: context.value, path: ["type"], params: { ...params }, message });
  })
  .describe("Refused with 400 `unsupported_value`: only functions are supported.");

const named = z.object({ type: z.literal("function"), function: z.object({ name: functionName }) });
const allowed = z.object({
  type: z.literal("allowed_tools"),
  allowed_tools: z.object({
    mode: z.enum(["auto", "required"]),
    tools: boundedList(named, { min: 1, max: MAX_TOOLS }),
  }),
});

/**
 * The tools of one request, in the form of its API. Each strict schema becomes a grammar: the bound on one schema holds for
 * all those of a request together, which `strictSchema` finds in a tool that may be invalid still.
 */
export function boundedTools<Tool extends z.ZodType>(tool: Tool, strictSchema: (tool: unknown) => unknown[]) {
  return z.preprocess(
    (value, context) => {
      const message = toolsExcess(value, strictSchema);
      if (message !== null) context.issues.push({ code: "custom", input: value, message, continue: false });
      return value;
    },
    boundedList(tool, { max: MAX_TOOLS }),
  );
}

const tools = boundedTools(z.discriminatedUnion("type", [functionTool, foreignTool]), (tool) => {
  const parameters = strictTool.safeParse(tool).data?.function.parameters;
  return parameters === undefined ? [] : [parameters];
});

export const toolFields = {
  tools: tools
    .nullish()
    .describe(
      `Functions that the model may call: at most ${MAX_TOOLS}, of ${MOST_TOOLS_CHARACTERS} characters of JSON together.`,
    ),
  tool_choice: z
    .union([z.enum(["none", "auto", "required"]), z.discriminatedUnion("type", [named, allowed, foreignTool])])
    .nullish()
    .describe("Default `auto`. A grammar enforces `required`, a named function and `allowed_tools`."),
  parallel_tool_calls: z.boolean().nullish().describe("`false`: at most one tool call per answer. Default true."),
};

/** The bound on all tools together that they exceed, as text; null for none. */
export function toolsExcess(value: unknown, strictSchema: (tool: unknown) => unknown[]): string | null {
  if (!Array.isArray(value) || value.length > MAX_TOOLS) return null;
  if (isLongerThan(value, MOST_TOOLS_CHARACTERS))
    return `they have more than ${MOST_TOOLS_CHARACTERS} characters of JSON together`;
  if (membersLeft(value, MOST_TOOLS_MEMBERS) < 0)
    return `they have more than ${MOST_TOOLS_MEMBERS} object members together`;
  if (!isLongerThan(value.flatMap(strictSchema), MOST_SCHEMA_CHARACTERS)) return null;
  return `the schemas of strict tools have more than ${MOST_SCHEMA_CHARACTERS} characters together`;
}

/** `most` minus the object members in a value; negative if it has more. Stops counting at the first excess. */
function membersLeft(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return most;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let left = Array.isArray(value) ? most : most - items.length;
  for (let i = 0; i < items.length && left >= 0; i++) left = membersLeft(items[i], left);
  return left;
}

interface ToolBody {
  tools?: z.infer<typeof toolFields.tools>;
  tool_choice?: z.infer<typeof toolFields.tool_choice>;
  grammar?: string | null;
}

/** Rules between the fields above. */
export function toolChecks(context: z.core.ParsePayload<ToolBody>): void {
  const { tools, tool_choice: choice } = context.value;
  const complain = (path: PropertyKey[], message: string) =>
    context.issues.push({ code: "custom", input: context.value, path, message });
  const names = (tools ?? []).flatMap((tool) => (tool.type === "function" ? [tool.function.name] : []));
  if (names.length > 0 && context.value.grammar != null)
    complain(["grammar"], "it is not allowed together with 'tools'");
  const duplicate = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (duplicate !== -1) complain(["tools", duplicate, "function", "name"], "another tool has the same name");
  if (choice == null || choice === "none" || choice === "auto") return;
  if (names.length === 0) return void complain(["tool_choice"], "it is only allowed when 'tools' are given");
  if (choice === "required" || choice.type === "custom") return;
  if (choice.type === "function") {
    if (!names.includes(choice.function.name)) complain(["tool_choice", "function", "name"], "there is no such tool");
    return;
  }
  const unknown = choice.allowed_tools.tools.findIndex((tool) => !names.includes(tool.function.name));
  const path = ["tool_choice", "allowed_tools", "tools", unknown, "function", "name"];
  if (unknown !== -1) complain(path, "there is no such tool");
}

const callFunction = z.object({ name: z.string(), arguments: z.string().describe("JSON text as the model wrote it.") });

export const answerToolCall = z.object({ id: z.string(), type: z.literal("function"), function: callFunction });

export const toolCallDelta = z.object({
  index: z.int(),
  id: z.string().optional().describe("`id`, `type` and `name` are in the first delta of a call only."),
  type: z.literal("function").optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }),
});
