import { Automaton } from "../../../engine/worker/grammar/automaton.ts";
import { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { schemaRule } from "../../../grammar/conversion/schema-rules.ts";
import { compileGbnf } from "../../../grammar/gbnf/compile-gbnf.ts";
import type { JsonSchema } from "../../../grammar/schema/keywords.ts";

/** @returns a function that is true for complete texts of the grammar */
export function reader(gbnf: string): (text: string) => boolean {
  const automaton = new Automaton(compileGbnf(gbnf));
  return (text) => automaton.walk(automaton.start, Buffer.from(text))?.complete ?? false;
}

export function schemaAutomaton(schema: JsonSchema): Automaton {
  const builder = new GrammarBuilder();
  return new Automaton(compileGbnf(builder.build(schemaRule(builder, schema))));
}

export function schemaReader(schema: JsonSchema): (text: string) => boolean {
  const automaton = schemaAutomaton(schema);
  return (text) => automaton.walk(automaton.start, Buffer.from(text))?.complete ?? false;
}
