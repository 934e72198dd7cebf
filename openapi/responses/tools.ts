import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import { boundedTools, functionFields, MAX_DESCRIPTION, MAX_TOOLS, strictCheck } from "../generation/tools.ts";

const MAX_DEFINITION = 65_536;

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, { error: "expected 1 to 128 of a-z, A-Z, 0-9, _ and -" });

const functionTool = z.object({ type: z.literal("function"), name: toolName, ...functionFields }).check(strictCheck);

const customFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({
    type: z.literal("grammar"),
    syntax: z.enum(["lark", "regex"]),
    definition: z.string().max(MAX_DEFINITION),
  }),
]);

const customTool = z.object({
  type: z.literal("custom"),
  name: toolName,
  description: z.string().max(MAX_DESCRIPTION).nullish(),
  format: customFormat.nullish().describe("Accepted, and not enforced: every input is free text."),
});

/** A tool of a type that this server does not run: the model is not told of it. */
const hostedTool = z.object({ type: z.literal("hosted"), of: z.string() }).describe("A tool of another type: skipped.");

const tool = z.preprocess(
  (value, context) => {
    const { type, name, function: nested }: { type?: unknown; name?: unknown; function?: unknown } = Object(value);
    if (type === "function" && name === undefined && typeof nested === "object") {
      const message = "in the Responses API 'name' and 'parameters' stand beside 'type', not in 'function'";
      context.issues.push({ code: "custom", input: value, message, continue: false });
    }
    const own = typeof type !== "string" || type === "function" || type === "custom";
    return own ? value : { type: "hosted", of: type };
  },
  z.discriminatedUnion("type", [functionTool, customTool, hostedTool]),
);
export type ResponseTool = z.infer<typeof tool>;

const strictTool = z.object({ type: z.literal("function"), strict: z.literal(true), parameters: anyObject() });

/** The schema of a strict tool, which may be invalid still; empty for other tools. */
export function strictParameters(value: unknown): unknown[] {
  const parameters = strictTool.safeParse(value).data?.parameters;
  return parameters === undefined ? [] : [parameters];
}

export const responseTools = boundedTools(tool, strictParameters);

const allowedTool = z.object({ type: z.string().max(64), name: z.string().max(128).nullish() });

export const responseToolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("function"), name: toolName }),
    z.object({ type: z.literal("custom"), name: toolName }),
    z.object({
      type: z.literal("allowed_tools"),
      mode: z.enum(["auto", "required"]),
      tools: boundedList(allowedTool, { min: 1, max: MAX_TOOLS }),
    }),
  ]),
]);
export type ResponseToolChoice = z.infer<typeof responseToolChoice>;

/** A tool as a response repeats it. */
export const usedTool = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("function"),
    name: z.string(),
    description: z.string().nullable(),
    parameters: anyObject().nullable(),
    strict: z.boolean().nullable(),
  }),
  z.object({
    type: z.literal("custom"),
    name: z.string(),
    description: z.string().optional(),
    format: customFormat.optional(),
  }),
]);
export type UsedTool = z.infer<typeof usedTool>;
