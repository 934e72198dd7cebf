import { GrammarBuilder } from "./conversion/builder.ts";
import { schemaRule } from "./conversion/schema-rules.ts";
import { compileGbnf } from "./gbnf/compile-gbnf.ts";
import { GbnfError } from "./gbnf/gbnf.ts";
import { kept } from "./kept-grammars.ts";
import { jsonWithin } from "./schema/json-length.ts";
import type { JsonSchema } from "./schema/keywords.ts";
import { UnsupportedSchema } from "./schema/unsupported-schema.ts";

/** Most characters of a schema, written as JSON. */
export const MOST_SCHEMA_CHARACTERS = 128 * 1024;

/**
 * The GBNF grammar of a JSON schema, compiled once to make sure that an engine accepts it.
 *
 * @throws UnsupportedSchema
 */
export function schemaGrammar(schema: JsonSchema): string {
  const text = boundedText(schema);
  return kept({ kind: "schema", text }, () => grammarOf(schema));
}

/**
 * Checks that a schema has a grammar that an engine accepts.
 *
 * @throws UnsupportedSchema
 */
export function checkSchema(schema: JsonSchema): void {
  const text = boundedText(schema);
  kept({ kind: "enforceable", text }, () => {
    grammarOf(schema);
    return "";
  });
}

function boundedText(schema: JsonSchema): string {
  const text = jsonWithin(schema, MOST_SCHEMA_CHARACTERS);
  if (text !== null) return text;
  throw new UnsupportedSchema([], `it has more than ${MOST_SCHEMA_CHARACTERS} characters.`);
}

function grammarOf(schema: JsonSchema): string {
  const builder = new GrammarBuilder();
  const gbnf = builder.build(schemaRule(builder, schema));
  try {
    compileGbnf(gbnf);
  } catch (error) {
    if (!(error instanceof GbnfError)) throw error;
    throw new UnsupportedSchema([], `it cannot be enforced: ${error.message}`);
  }
  return gbnf;
}

/** The grammar of any JSON object. */
export function jsonObjectGrammar(): string {
  const builder = new GrammarBuilder();
  return builder.build(builder.json.object);
}

/** @throws GbnfError for a grammar that an engine would refuse */
export function checkGbnf(gbnf: string): void {
  kept({ kind: "gbnf", text: gbnf }, () => {
    compileGbnf(gbnf);
    return "";
  });
}
