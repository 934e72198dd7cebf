import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { literal, oneOf } from "../../../grammar/gbnf/literal.ts";
import type { CallableTool } from "./format.ts";
import { schemaMembers } from "./schema-members.ts";
import { isText, mayBeText } from "./tagged-arguments.ts";

/**
 * Most places of arguments in the rules for any order, which are a rule for each set of required ones. Above it, arguments
 * come in the order of the schema.
 */
const MOST_PLACES = 256;

/** GBNF of a value: of its forms as bare text and as JSON, null where it has no such form. */
export interface TaggedValue {
  text: string | null;
  json: string | null;
  /** For formats that do not tell the two forms apart: any text where any string is allowed. */
  bare: string;
}

/**
 * Right-hand side for arguments that are written one by one: the required ones in any order, with any of the others between
 * and behind them. Of an argument that comes twice, the later one counts, as in JSON. `one` writes an argument around its
 * value; `text` is the rule for any bare text.
 */
export function taggedRule(
  { parameters, valueRule }: CallableTool,
  grammar: GrammarBuilder,
  text: string,
  one: (key: string, value: TaggedValue, schema: unknown) => string,
): string {
  const members = schemaMembers(parameters).map(({ key, schema, required }) => {
    return { rule: grammar.rule("argument", one(key, taggedValue(schema, text, valueRule), schema)), required };
  });
  const must = members.filter(({ required }) => required).map(({ rule }) => rule);
  const may = members.filter(({ required }) => !required).map(({ rule }) => rule);
  const places = 2 ** must.length * members.length;
  if (members.length === 0) return "";
  if (places > MOST_PLACES) return members.map(({ rule, required }) => (required ? rule : `${rule}?`)).join(" ");
  const others = may.length === 0 ? "" : `(${may.join(" | ")})*`;
  const names = new Map<number, string>();
  /** The rule for the arguments that follow, by the set of required ones that are missing. */
  const after = (missing: number): string => {
    if (missing === 0) return others;
    const known = names.get(missing);
    if (known !== undefined) return known;
    const next = must.flatMap((rule, index) => {
      return (missing & (1 << index)) === 0 ? [] : [`${rule} ${after(missing & ~(1 << index))}`];
    });
    const name = grammar.rule("arguments", `${others} (${next.join(" | ")})`);
    names.set(missing, name);
    return name;
  };
  return after(2 ** must.length - 1);
}

function taggedValue(schema: unknown, text: string, valueRule: (schema: unknown) => string): TaggedValue {
  const fields = typeof schema === "object" && schema !== null ? schema : {};
  const values = "enum" in fields ? fields.enum : "const" in fields ? [fields.const] : null;
  if (Array.isArray(values) && values.length > 0) {
    const strings = values.filter((value: unknown) => typeof value === "string").map(literal);
    const others = values.filter((value: unknown) => typeof value !== "string");
    const json = others.map((value: unknown) => literal(JSON.stringify(value)));
    const choice = (list: readonly string[]) => (list.length === 0 ? null : oneOf(list));
    return { text: choice(strings), json: choice(json), bare: oneOf([...strings, ...json]) };
  }
  if (isText(schema)) return { text, json: null, bare: text };
  const json = valueRule(schema);
  return mayBeText(schema) ? { text, json, bare: text } : { text: null, json, bare: json };
}
