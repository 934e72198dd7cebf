import { z } from "zod";
import { checkGbnf, schemaGrammar } from "../../grammar/checked-grammar.ts";
import { GbnfError } from "../../grammar/gbnf/gbnf.ts";
import { UnsupportedSchema } from "../../grammar/schema/unsupported-schema.ts";
import { anyObject } from "../any-object.ts";
import type { Refusal } from "../refused-fields.ts";

export const MOST_GRAMMAR_CHARACTERS = 64 * 1024;

/** A JSON schema that a grammar can enforce. A keyword that cannot be enforced is refused with its path. */
export const enforceableSchema = anyObject()
  .check((context) => {
    if (context.issues.length > 0) return;
    try {
      schemaGrammar(context.value);
    } catch (error) {
      if (!(error instanceof UnsupportedSchema)) throw error;
      const params: Refusal = { code: "unsupported_value" };
      const path = [...error.path];
      context.issues.push({
        code: "custom",
        input: context.value,
        path,
        params: { ...params },
        message: error.message,
      });
    }
  })
  .describe("A JSON schema. A keyword that cannot be enforced is refused with 400 `unsupported_value`.");

const text = z.object({ type: z.literal("text") });
const jsonObject = z.object({ type: z.literal("json_object") });
const jsonSchema = z.object({
  type: z.literal("json_schema"),
  json_schema: z.object({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, { error: "expected 1 to 64 letters, digits, _ or -" }),
    description: z.string().nullish().describe("Accepted and ignored: put it into the prompt."),
    schema: enforceableSchema.nullish().describe("Default: any object."),
    strict: z.boolean().nullish().describe("Passed on to an upstream; a model of this server follows every schema."),
  }),
});

export const responseFormat = z
  .discriminatedUnion("type", [text, jsonObject, jsonSchema])
  .nullish()
  .describe("The format of the answer, enforced at every token.");

/** Top-level fields of llama-server. */
export const grammarFields = {
  grammar: z
    .string()
    .max(MOST_GRAMMAR_CHARACTERS)
    .check((context) => {
      try {
        checkGbnf(context.value);
      } catch (error) {
        if (!(error instanceof GbnfError)) throw error;
        const message = error.message.replace(/\.$/, "");
        context.issues.push({ code: "custom", input: context.value, path: [], message });
      }
    })
    .nullish()
    .describe("Extension. A GBNF grammar that the answer must match, beginning with its rule `root`."),
  json_schema: enforceableSchema
    .nullish()
    .describe("Extension. A JSON schema for the answer, without `response_format`."),
};

/** The fields that name the form of an answer. */
export interface Constrained {
  response_format?: z.infer<typeof responseFormat>;
  grammar?: string | null;
  json_schema?: Record<string, unknown> | null;
}

/** Refuses a body with two constraints on the answer. */
export function oneConstraint(context: z.core.ParsePayload<Constrained>): void {
  const { response_format, grammar, json_schema } = context.value;
  const given = [
    ...(response_format != null && response_format.type !== "text" ? ["response_format"] : []),
    ...(json_schema != null ? ["json_schema"] : []),
    ...(grammar != null ? ["grammar"] : []),
  ];
  if (given.length < 2) return;
  const message = `it is not allowed together with '${given[0]}'`;
  context.issues.push({ code: "custom", input: context.value, path: [given[1]!], message });
}
