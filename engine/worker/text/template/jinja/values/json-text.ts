import { floatText } from "./python-text.ts";
import { isList, isMapping, type Key, nameOf, type Value } from "./values.ts";

/** The arguments of Python's json.dumps. */
export interface JsonStyle {
  indent: string | null;
  ensureAscii: boolean;
  separators: [item: string, key: string] | null;
  sortKeys: boolean;
}

export const PLAIN_JSON: JsonStyle = { indent: null, ensureAscii: false, separators: null, sortKeys: false };

/** Characters other than those of ASCII; DEL is one of these. */
const NON_ASCII = /[\u0080-\uffff]/g;

/**
 * The JSON text of a value as json.dumps writes it. An undefined value is null: templates print tools by their fields, and a
 * client may leave one out.
 */
export function jsonText(value: Value, style: JsonStyle, depth = 0): string {
  if (isList(value)) {
    return wrapped(
      "[]",
      value.value.map((item) => jsonText(item, style, depth + 1)),
      style,
      depth,
    );
  }
  if (isMapping(value)) {
    const entries = [...value.value].map(([key, member]): [string, Value] => [keyText(key), member]);
    if (style.sortKeys) entries.sort(([one], [other]) => (one < other ? -1 : 1));
    const [, colon] = style.separators ?? ["", ": "];
    const members = entries.map(([key, member]) => {
      return `${stringText(key, style)}${colon}${jsonText(member, style, depth + 1)}`;
    });
    return wrapped("{}", members, style, depth);
  }
  switch (value.type) {
    case "StringValue":
      return stringText(value.value, style);
    case "BooleanValue":
    case "IntegerValue":
      return String(value.value);
    case "FloatValue":
      return floatText(value.value);
    case "NullValue":
    case "UndefinedValue":
      return "null";
    default:
      throw new Error(`tojson: ${nameOf(value)} has no JSON`);
  }
}

function wrapped(brackets: string, items: string[], { indent, separators }: JsonStyle, depth: number): string {
  const [open, close] = brackets;
  if (items.length === 0) return brackets;
  const [comma] = separators ?? [indent === null ? ", " : ","];
  if (indent === null) return `${open}${items.join(comma)}${close}`;
  const line = `\n${indent.repeat(depth)}`;
  return `${open}${line}${indent}${items.join(`${comma}${line}${indent}`)}${line}${close}`;
}

function stringText(value: string, { ensureAscii }: JsonStyle): string {
  const json = JSON.stringify(value);
  if (!ensureAscii) return json;
  return json.replace(NON_ASCII, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function keyText(key: Key): string {
  if (typeof key === "number" && !Number.isInteger(key)) return floatText(key);
  return String(key);
}
