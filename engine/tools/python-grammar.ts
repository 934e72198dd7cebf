import type { GrammarBuilder } from "../../grammar/builder.ts";
import { literal } from "../../grammar/literal.ts";
import { membersRule } from "./members-grammar.ts";

const SCALARS: Record<string, string> = {
  boolean: '("True" | "False")',
  null: '"None"',
  integer: '"-"? [0-9]+',
  number: '"-"? [0-9]+ ("." [0-9]+)?',
};

/**
 * Right-hand side for keyword arguments. Types of scalars and values of enums are enforced, lists and maps hold any Python
 * literals.
 */
export function keywordRule(parameters: Record<string, unknown>, grammar: GrammarBuilder): string {
  return membersRule(parameters, '", "', (key, schema) => `${literal(`${key}=`)} ${valueRule(schema, grammar)}`);
}

function valueRule(schema: unknown, grammar: GrammarBuilder): string {
  const fields = typeof schema === "object" && schema !== null ? schema : {};
  if ("enum" in fields && Array.isArray(fields.enum)) {
    return `(${fields.enum.map((value: unknown) => literal(pythonLiteral(value))).join(" | ")})`;
  }
  const type = "type" in fields ? fields.type : null;
  if (type === "string") return grammar.rule("python-string", STRING);
  const scalar = typeof type === "string" ? SCALARS[type] : undefined;
  if (scalar !== undefined) return scalar;
  return anyLiteral(grammar);
}

/** Refers to itself; no other rule has this name. */
const VALUE = "python-value";
const STRING = '"\\"" ([^"\\\\\\n] | "\\\\" [^\\n])* "\\""';

function anyLiteral(grammar: GrammarBuilder): string {
  const text = grammar.rule("python-string", STRING);
  const list = `"[" (${VALUE} (", " ${VALUE})*)? "]"`;
  const map = `"{" (${text} ": " ${VALUE} (", " ${text} ": " ${VALUE})*)? "}"`;
  return grammar.rule(VALUE, `${text} | ${Object.values(SCALARS).join(" | ")} | ${list} | ${map}`);
}

function pythonLiteral(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return value === null ? "None" : JSON.stringify(value);
}
