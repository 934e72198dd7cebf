import type { GrammarRule } from "../../engine/protocol/request.ts";
import { jsonObjectGrammar, schemaGrammar } from "../../grammar/checked-grammar.ts";
import type { JsonSchema } from "../../grammar/schema/keywords.ts";
import type { Constrained } from "../../openapi/generation/response-format.ts";
import type { AnswerForm } from "./turn.ts";

/** The form of an answer that is any JSON object. */
export function objectForm(): AnswerForm {
  return { gbnf: jsonObjectGrammar(), schema: { type: "object" } };
}

/** The form of an answer that matches a schema, which was checked before. */
export function schemaForm(schema: Extract<JsonSchema, object>, strict?: boolean | null): AnswerForm {
  return { gbnf: schemaGrammar(schema), schema, ...(strict != null && { strict }) };
}

/** The form that a valid body of OpenAI's API names; null for any text. */
export function answerForm({ response_format, grammar, json_schema }: Constrained): AnswerForm | null {
  if (grammar != null) return { gbnf: grammar, schema: null };
  if (json_schema != null) return schemaForm(json_schema);
  switch (response_format?.type) {
    case "json_schema": {
      const { schema, strict } = response_format.json_schema;
      return schema == null ? objectForm() : schemaForm(schema, strict);
    }
    case "json_object":
      return objectForm();
    default:
      return null;
  }
}

/** The grammar of a form, from the first token of the answer on. */
export function formRule(form: AnswerForm | null): GrammarRule | null {
  return form === null ? null : { ...form, triggers: null };
}
