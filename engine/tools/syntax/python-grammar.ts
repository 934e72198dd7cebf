import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { literal } from "../../../grammar/gbnf/literal.ts";
import { assertions } from "../../../grammar/schema/keywords.ts";
import type { CallableTool } from "./format.ts";
import { membersRule } from "./members-grammar.ts";

const BOOLEAN = '("True" | "False")';
const NULL = '"None"';

/**
 * Right-hand side for keyword arguments. Values of one type without further keywords, and enums, are Python literals, with
 * those of JSON inside of lists and maps. Values of other schemas are JSON, which these models write at times and the reading
 * accepts.
 */
export function keywordRule({ parameters, valueRule }: CallableTool, grammar: GrammarBuilder): string {
  return membersRule(parameters, '", "', (key, schema) => {
    return `${literal(`${key}=`)} ${literalRule(schema, grammar) ?? valueRule(schema)}`;
  });
}

/** @returns null for a schema that asks for more than a type or an enum */
function literalRule(schema: unknown, grammar: GrammarBuilder): string | null {
  const fields = typeof schema === "object" && schema !== null ? { ...schema } : {};
  const asked = assertions(fields);
  if (asked.length === 0) return anyLiteral(grammar);
  if ("enum" in fields && Array.isArray(fields.enum)) {
    return `(${fields.enum.map((value: unknown) => literal(pythonLiteral(value))).join(" | ")})`;
  }
  if (asked.length > 1 || !("type" in fields) || typeof fields.type !== "string") return null;
  switch (fields.type) {
    case "string":
      return grammar.rule("python-string", STRING);
    case "boolean":
      return BOOLEAN;
    case "null":
      return NULL;
    case "integer":
      return grammar.json.integer;
    case "number":
      return grammar.json.number;
    case "object":
      return anyContainers(grammar).map;
    case "array":
      return anyContainers(grammar).list;
    default:
      return null;
  }
}

/** Name of a recursive rule; no other rule has it. */
const VALUE = "python-value";
const STRING = '"\\"" ([^"\\\\\\n] | "\\\\" [^\\n])* "\\""';

function anyLiteral(grammar: GrammarBuilder): string {
  const text = grammar.rule("python-string", STRING);
  const list = `"[" (${VALUE} (", " ${VALUE})*)? "]"`;
  const map = `"{" (${text} ": " ${VALUE} (", " ${text} ": " ${VALUE})*)? "}"`;
  const scalars = `${text} | ${BOOLEAN} | ${NULL} | "true" | "false" | "null" | ${grammar.json.number}`;
  return grammar.rule(VALUE, `${scalars} | ${list} | ${map}`);
}

function anyContainers(grammar: GrammarBuilder): { list: string; map: string } {
  const value = anyLiteral(grammar);
  const text = grammar.rule("python-string", STRING);
  return {
    list: grammar.rule("python-list", `"[" (${value} (", " ${value})*)? "]"`),
    map: grammar.rule("python-map", `"{" (${text} ": " ${value} (", " ${text} ": " ${value})*)? "}"`),
  };
}

function pythonLiteral(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return value === null ? "None" : JSON.stringify(value);
}
