import { GbnfError } from "./gbnf/gbnf.ts";
import { GrammarTooLarge, UnsupportedSchema } from "./schema/unsupported-schema.ts";

/** Result for a text: the grammar of a JSON schema, a check that it has one, a check of GBNF, or a request's tool grammar. */
type SourceKind = "schema" | "enforceable" | "gbnf" | "tools";

/** The source of a grammar. */
export interface GrammarSource {
  kind: SourceKind;
  text: string;
}

/** The result for a source. Plain data, as it may come from another process. */
export type GrammarOutcome = { grammar: string } | GrammarFault;

interface GrammarFault {
  fault: "schema" | "too large" | "gbnf";
  path: readonly (string | number)[];
  message: string;
}

/** Most results that are kept. The lines of a batch mostly share one schema. */
const MOST_KEPT = 64;
const MOST_KEPT_CHARACTERS = 16 * 1024 * 1024;

const outcomes = new Map<string, GrammarOutcome>();
let characters = 0;

/** State of withoutMaking(): results that are known besides the kept ones, and sources whose results are missing. */
interface Elsewhere {
  known: ReadonlyMap<string, GrammarOutcome>;
  missing: Map<string, GrammarSource>;
}
let elsewhere: Elsewhere | null = null;

/**
 * The result of `make` for this source, made or thrown once and then kept. Within withoutMaking() an unknown source is
 * recorded as missing, and its grammar is empty.
 */
export function kept(source: GrammarSource, make: () => string): string {
  const key = keyOf(source);
  const known = elsewhere?.known.get(key) ?? outcomes.get(key);
  if (known === undefined && elsewhere !== null) {
    elsewhere.missing.set(key, source);
    return "";
  }
  const outcome = known ?? outcomeOf(make);
  keep(key, outcome);
  if ("fault" in outcome) throw errorOf(outcome);
  return outcome.grammar;
}

/** Runs a synchronous function without making grammars. If any is missing, the result of the function is not valid. */
export function withoutMaking<T>(
  run: () => T,
  known: ReadonlyMap<string, GrammarOutcome>,
): { result: T; missing: ReadonlyMap<string, GrammarSource> } {
  const before = elsewhere;
  const missing = new Map<string, GrammarSource>();
  elsewhere = { known, missing };
  try {
    return { result: run(), missing };
  } finally {
    elsewhere = before;
  }
}

/** The result of making a grammar. Unexpected errors are rethrown. */
export function outcomeOf(make: () => string): GrammarOutcome {
  try {
    return { grammar: make() };
  } catch (error) {
    if (error instanceof GbnfError) return { fault: "gbnf", path: [], message: error.message };
    if (!(error instanceof UnsupportedSchema)) throw error;
    const fault = error instanceof GrammarTooLarge ? "too large" : "schema";
    return { fault, path: error.path, message: error.message };
  }
}

export function keyOf({ kind, text }: GrammarSource): string {
  return `${kind} ${text}`;
}

function errorOf({ fault, path, message }: GrammarFault): Error {
  if (fault === "gbnf") return new GbnfError(message);
  return fault === "schema" ? new UnsupportedSchema(path, message) : new GrammarTooLarge();
}

/** Keeps a result; the least recently used ones are dropped. */
function keep(key: string, outcome: GrammarOutcome): void {
  drop(key);
  outcomes.set(key, outcome);
  characters += sizeOf(key, outcome);
  while (outcomes.size > MOST_KEPT || characters > MOST_KEPT_CHARACTERS) drop(outcomes.keys().next().value!);
}

function drop(key: string): void {
  const outcome = outcomes.get(key);
  if (outcome === undefined) return;
  outcomes.delete(key);
  characters -= sizeOf(key, outcome);
}

function sizeOf(key: string, outcome: GrammarOutcome): number {
  return key.length + ("fault" in outcome ? outcome.message.length : outcome.grammar.length);
}
