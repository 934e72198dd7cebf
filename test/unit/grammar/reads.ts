import { Automaton } from "../../../engine/worker/grammar/automaton.ts";
import { GrammarBuilder } from "../../../grammar/builder.ts";
import type { JsonSchema } from "../../../grammar/json-schema.ts";
import { compileGbnf } from "../../../grammar/network.ts";

/** @returns whether a text is complete by the grammar */
export function reader(gbnf: string): (text: string) => boolean {
  const automaton = new Automaton(compileGbnf(gbnf));
  return (text) => automaton.walk(automaton.start, Buffer.from(text))?.complete ?? false;
}

export function schemaAutomaton(schema: JsonSchema): Automaton {
  const builder = new GrammarBuilder();
  return new Automaton(compileGbnf(builder.build(builder.schema(schema))));
}

export function schemaReader(schema: JsonSchema): (text: string) => boolean {
  const automaton = schemaAutomaton(schema);
  return (text) => automaton.walk(automaton.start, Buffer.from(text))?.complete ?? false;
}
