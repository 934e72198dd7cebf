import { CodePoints } from "../gbnf/code-points.ts";
import { literal } from "../gbnf/literal.ts";
import { Dfa } from "../language/dfa.ts";
import { FORMATS, formatBody } from "../language/formats.ts";
import { SHORTER } from "../language/network-formats.ts";
import { patternRule } from "../language/pattern.ts";
import type { Work } from "../language/work.ts";
import { count, MOST_REPETITIONS } from "../schema/keyword-numbers.ts";
import type { SchemaPath } from "../schema/keywords.ts";
import type { Clause } from "../schema/part.ts";
import { enforceable, patternTexts } from "../schema/pattern-texts.ts";
import { NoValue } from "../schema/unsupported-schema.ts";
import { negated } from "../schema/value-limits.ts";
import type { GrammarBuilder } from "./builder.ts";

/** One keyword for the text of a string. */
interface Condition {
  path: SchemaPath;
  /** The texts that match. */
  texts: () => Dfa;
  /** The right-hand side of a format. */
  body?: string;
  /** The bounds of a length. */
  lengths?: { least: number; most: number | null };
  /** The right-hand side for these texts in JSON, without automata, whose size is bounded. */
  rule: (grammar: GrammarBuilder) => string;
}

/** The right-hand side for the strings that match all clauses. @param excluded texts that are not allowed */
export function stringRule(
  grammar: GrammarBuilder,
  clauses: readonly Clause[],
  excluded: readonly string[],
  path: SchemaPath,
): string {
  const conditions = conditionsOf(grammar, clauses, excluded, path);
  const [only] = conditions;
  if (only === undefined) return grammar.json.string;
  if (conditions.length === 1) return grammar.rule("string", `"\\"" ${only.rule(grammar)} "\\""`);
  const shorter = shorterFormat(conditions);
  if (shorter !== null) return grammar.rule("string", `"\\"" ${grammar.rule("short", shorter)} "\\""`);
  const texts = stringTexts(conditions);
  return grammar.rule("string", `"\\"" ${texts.rule(grammar, "text", (set) => grammar.json.charOf(set))} "\\""`);
}

/** Most characters that a format's shortest text surely has. */
const SHORTEST = 1;

/** The part of a format within the lengths beside it; null if other conditions are there, or no part is known. */
function shorterFormat([format, length, ...others]: readonly Condition[]): string | null {
  if (format?.body === undefined || length?.lengths === undefined || others.length > 0) return null;
  const { least, most } = length.lengths;
  if (least > SHORTEST) return null;
  if (most === null) return format.body;
  return SHORTER.get(format.body)?.find(([longest]) => longest <= most)?.[1] ?? null;
}

/** The names of properties that match all clauses; null for all names. */
export function nameTexts(
  work: Work,
  clauses: readonly Clause[],
  excluded: readonly string[],
  path: SchemaPath,
): Dfa | null {
  const conditions = conditionsOf(work, clauses, excluded, path);
  return conditions.length === 0 ? null : stringTexts(conditions);
}

function stringTexts(conditions: readonly Condition[]): Dfa {
  const { path } = conditions.at(-1)!;
  const make = () => {
    // The size of an intersection grows with its parts: the lengths come last.
    const texts = conditions.map((condition) => condition.texts()).reduce((one, other) => one.and(other));
    if (texts.empty) throw new NoValue(path, "no text matches it and the keywords beside it.");
    return texts;
  };
  return enforceable(path, make, formatAdvice(conditions));
}

/** The length beside which a format of these conditions has a known part; empty for none. */
function formatAdvice(conditions: readonly Condition[]): string {
  for (const { body } of conditions) {
    const shortest = body === undefined ? undefined : SHORTER.get(body)?.at(-1);
    if (shortest !== undefined) return `; the format is enforced beside a maxLength of ${shortest[0]} or more alone`;
  }
  return "";
}

function conditionsOf(
  work: Work,
  clauses: readonly Clause[],
  excluded: readonly string[],
  path: SchemaPath,
): Condition[] {
  const conditions = clauses.flatMap((clause) => textConditions(work, clause));
  if (excluded.length > 0) {
    conditions.push(automaton(path, () => Dfa.of(excluded.map(literal).join(" | "), work).not()));
  }
  const length = lengthCondition(work, clauses);
  return length === null ? conditions : [...conditions, length];
}

function textConditions(work: Work, { schema, path }: Clause): Condition[] {
  const conditions: Condition[] = [];
  const { pattern } = schema;
  const format = typeof schema.format === "string" && FORMATS.has(schema.format) ? schema.format : null;
  const both = format === null ? null : formatBody(format, pattern);
  if (format !== null) {
    const body = both ?? FORMATS.get(format)!;
    conditions.push({
      path: [...path, "format"],
      body,
      texts: () => Dfa.of(body, work),
      rule: (grammar) => grammar.rule(format, body),
    });
  }
  if (pattern !== undefined && both === null) {
    const at = [...path, "pattern"];
    const texts = patternTexts(pattern, at);
    conditions.push({
      path: at,
      texts: () => Dfa.of(texts, work),
      rule: (grammar) => {
        const written = patternRule(String(pattern), (set) => grammar.json.charOf(set), MOST_REPETITIONS);
        return grammar.rule("pattern", written);
      },
    });
  }
  const excluded = negated(schema).pattern;
  if (excluded !== undefined) {
    const at = [...path, "not", "pattern"];
    conditions.push(automaton(at, () => Dfa.of(patternTexts(excluded, at), work).not()));
  }
  return conditions;
}

function automaton(path: SchemaPath, texts: () => Dfa): Condition {
  const rule = (grammar: GrammarBuilder) => {
    const made = stringTexts([{ path, texts, rule }]);
    return made.rule(grammar, "text", (set) => grammar.json.charOf(set));
  };
  return { path, texts, rule };
}

function lengthCondition(work: Work, clauses: readonly Clause[]): Condition | null {
  let least = 0;
  let most: number | null = null;
  let at: SchemaPath = [];
  for (const { schema, path } of clauses) {
    const [low, high] = [count(schema, "minLength", path), count(schema, "maxLength", path)];
    if (low !== null && low > least) least = low;
    if (high !== null && (most === null || high < most)) most = high;
    if (low !== null || high !== null) at = [...path, high === null ? "minLength" : "maxLength"];
  }
  if (most !== null && most < least) throw new NoValue(at, "it is less than 'minLength'.");
  if (least === 0 && most === null) return null;
  const times = `{${least},${most ?? ""}}`;
  return {
    path: at,
    lengths: { least, most },
    texts: () => Dfa.of(`${CodePoints.all.gbnf}${times}`, work),
    rule: (grammar) => `${grammar.json.char}${times}`,
  };
}
