import type { GrammarWriter } from "./format.ts";
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
export function keywordRule(parameters: Record<string, unknown>, write: GrammarWriter): string {
  return membersRule(parameters, '", "', (key, schema) => `${write.literal(`${key}=`)} ${valueRule(schema, write)}`);
}

function valueRule(schema: unknown, write: GrammarWriter): string {
  const fields = typeof schema === "object" && schema !== null ? schema : {};
  if ("enum" in fields && Array.isArray(fields.enum)) {
    return `(${fields.enum.map((value: unknown) => write.literal(pythonLiteral(value))).join(" | ")})`;
  }
  const type = "type" in fields ? fields.type : null;
  if (type === "string") return write.rule("python-string", STRING);
  const scalar = typeof type === "string" ? SCALARS[type] : undefined;
  if (scalar !== undefined) return scalar;
  return anyLiteral(write);
}

const STRING = '"\\"" ([^"\\\\\\n] | "\\\\" [^\\n])* "\\""';

function anyLiteral(write: GrammarWriter): string {
  const text = write.rule("python-string", STRING);
  const list = `"[" (python-value (", " python-value)*)? "]"`;
  const map = `"{" (${text} ": " python-value (", " ${text} ": " python-value)*)? "}"`;
  return write.rule("python-value", `${text} | ${Object.values(SCALARS).join(" | ")} | ${list} | ${map}`);
}

function pythonLiteral(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return value === null ? "None" : JSON.stringify(value);
}
