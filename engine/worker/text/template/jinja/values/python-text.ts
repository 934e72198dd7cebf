import { isList, isMapping, type Key, type Value } from "./values.ts";

/** Python's str(): the text that a template prints. */
export function pythonText(value: Value): string {
  if (value.type === "StringValue") return value.value;
  return value.type === "UndefinedValue" ? "" : representation(value);
}

/** Python's repr(): the text of a value within a list or a dictionary. */
export function representation(value: Value): string {
  if (value.type === "TupleValue") return tupleText(value.value.map(representation));
  if (isList(value)) return `[${value.value.map(representation).join(", ")}]`;
  if (isMapping(value)) {
    const members = [...value.value].map(([key, member]) => `${keyText(key)}: ${representation(member)}`);
    return `{${members.join(", ")}}`;
  }
  switch (value.type) {
    case "StringValue":
      return quoted(value.value);
    case "IntegerValue":
      return integerText(value.value);
    case "FloatValue":
      return floatText(value.value);
    case "BooleanValue":
      return value.value ? "True" : "False";
    case "NullValue":
      return "None";
    case "UndefinedValue":
      return "Undefined";
    case "NamespaceValue":
      return "<Namespace>";
    default:
      return "<function>";
  }
}

function tupleText(items: readonly string[]): string {
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(", ")})`;
}

function keyText(key: Key): string {
  if (typeof key === "string") return quoted(key);
  if (typeof key === "number") return Number.isInteger(key) ? integerText(key) : floatText(key);
  return key === null ? "None" : key ? "True" : "False";
}

function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

/** The shortest decimal text of a float: with an exponent below 1e-4 and from 1e16 on, as in Python. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [digits = "", exponent = ""] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (Number.isInteger(value)) return `${value}.0`;
  return power < 0 ? value.toFixed(digits.replace(/[-.]/g, "").length - 1 - power) : String(value);
}

const ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
/** Characters that Python does not print; those of private use are placeholders of a client's text. */
const ESCAPED = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/gu;

function quoted(value: string): string {
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const inside = value.replace(ESCAPED, (character) => {
    if (character === " ") return character;
    return ESCAPES[character] ?? escaped(character.codePointAt(0)!);
  });
  return quote + inside.replaceAll(quote, `\\${quote}`) + quote;
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
