import { GrammarBuilder } from "./builder.ts";
import { GbnfError } from "./gbnf.ts";
import type { JsonSchema } from "./json-schema.ts";
import { compileGbnf } from "./network.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Most characters of a schema as JSON. */
export const MOST_SCHEMA_CHARACTERS = 128 * 1024;
/** The lines of a batch mostly share one schema, and a check takes milliseconds. */
const MOST_KEPT = 64;

/**
 * The grammar of a JSON schema, in GBNF, tried for whether an engine will take it.
 *
 * @throws UnsupportedSchema
 */
export function schemaGrammar(schema: JsonSchema): string {
  const text = JSON.stringify(schema);
  if (text.length > MOST_SCHEMA_CHARACTERS) {
    throw new UnsupportedSchema([], `it has more than ${MOST_SCHEMA_CHARACTERS} characters.`);
  }
  return kept(`schema ${text}`, () => {
    const builder = new GrammarBuilder();
    const gbnf = builder.build(builder.schema(schema));
    try {
      compileGbnf(gbnf);
    } catch (error) {
      if (!(error instanceof GbnfError)) throw error;
      throw new UnsupportedSchema([], `it can't be enforced: ${error.message}`);
    }
    return gbnf;
  });
}

/** Any JSON object. */
export function jsonObjectGrammar(): string {
  return kept("object", () => {
    const builder = new GrammarBuilder();
    return builder.build(builder.json.object);
  });
}

/** @throws GbnfError for a grammar that an engine will not take */
export function checkGbnf(gbnf: string): void {
  kept(`gbnf ${gbnf}`, () => {
    compileGbnf(gbnf);
    return gbnf;
  });
}

type Outcome = { grammar: string } | { error: unknown };
const outcomes = new Map<string, Outcome>();

/** What `make` returned, or threw, for a key; the least recently asked for give way. */
function kept(key: string, make: () => string): string {
  const outcome = outcomes.get(key) ?? attempt(make);
  outcomes.delete(key);
  outcomes.set(key, outcome);
  if (outcomes.size > MOST_KEPT) outcomes.delete(outcomes.keys().next().value!);
  if ("error" in outcome) throw outcome.error;
  return outcome.grammar;
}

function attempt(make: () => string): Outcome {
  try {
    return { grammar: make() };
  } catch (error) {
    return { error };
  }
}
