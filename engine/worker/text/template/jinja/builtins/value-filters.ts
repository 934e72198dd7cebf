import { type JsonStyle, jsonText } from "../values/json-text.ts";
import { pythonText } from "../values/python-text.ts";
import {
  boolean,
  float,
  integer,
  isList,
  isMapping,
  isTrue,
  iterated,
  list,
  missing,
  nameOf,
  numberOf,
  text,
  type Value,
} from "../values/values.ts";
import type { Arguments } from "./arguments.ts";
import { MAP_METHODS } from "./container-methods.ts";
import { formatted } from "./percent-format.ts";
import { capitalized, replaced, stripped, TEXT_METHODS } from "./text-methods.ts";

export type Filter = (operand: Value, args: Arguments) => Value;

/** Spaces by which lines are indented, and the width of centered text, at most. */
const WIDEST = 1000;
const HTML: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;" };

/** Jinja2's filters of single values. Those of texts take any value, by its text. */
export const VALUE_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["upper", (operand, args) => TEXT_METHODS.get("upper")!(pythonText(operand), args)],
  ["lower", (operand, args) => TEXT_METHODS.get("lower")!(pythonText(operand), args)],
  ["title", (operand, args) => TEXT_METHODS.get("title")!(pythonText(operand), args)],
  ["capitalize", (operand) => text(capitalized(pythonText(operand)))],
  ["trim", (operand, args) => text(stripped(pythonText(operand), args.text(0, "chars")))],
  ["replace", (operand, args) => text(replaced(pythonText(operand), args))],
  ["string", (operand) => text(pythonText(operand))],
  ["safe", (operand) => operand],
  ["escape", (operand) => text(htmlEscaped(pythonText(operand)))],
  ["e", (operand) => text(htmlEscaped(pythonText(operand)))],
  ["urlencode", (operand) => text(encodeURIComponent(pythonText(operand)))],
  ["indent", (operand, args) => text(indented(pythonText(operand), args))],
  ["center", (operand, args) => text(centered(pythonText(operand), bounded(args.integer(0, "width") ?? 80)))],
  ["format", (operand, args) => text(formatted(pythonText(operand), args.positional))],
  ["wordcount", (operand) => integer(pythonText(operand).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)],
  ["tojson", (operand, args) => text(jsonText(operand, jsonStyle(args)))],
  ["default", defaulted],
  ["d", defaulted],
  ["bool", (operand) => boolean(isTrue(operand))],
  ["int", (operand, args) => wholeNumber(operand) ?? args.at(0, "default") ?? integer(0)],
  ["float", (operand, args) => decimalNumber(operand) ?? args.at(0, "default") ?? float(0)],
  ["abs", (operand) => sameKind(operand, Math.abs(numeric(operand)))],
  ["round", rounded],
  ["length", (operand) => integer(lengthOf(operand))],
  ["count", (operand) => integer(lengthOf(operand))],
  ["list", (operand) => list([...iterated(operand)])],
  ["first", (operand) => iterated(operand)[0] ?? missing()],
  ["last", (operand) => iterated(operand).at(-1) ?? missing()],
  ["items", itemsFilter],
  ["attr", (operand, args) => memberOf(operand, args.text(0, "name") ?? "")],
]);

/** The member of a mapping or a namespace; an undefined value without it. */
export function memberOf(value: Value, name: string): Value {
  const has = isMapping(value) || value.type === "NamespaceValue";
  if (isList(value) && /^\d+$/.test(name)) return value.value[Number(name)] ?? missing();
  return (has ? value.value.get(name) : undefined) ?? missing();
}

function htmlEscaped(subject: string): string {
  return subject.replace(/[&<>'"]/g, (character) => HTML[character]!);
}

function bounded(width: number): number {
  if (width > WIDEST) throw new Error(`a width of more than ${WIDEST}`);
  return width;
}

function indented(subject: string, args: Arguments): string {
  const width = args.at(0, "width");
  const prefix = width?.type === "StringValue" ? width.value : " ".repeat(bounded(args.integer(0, "width") ?? 4));
  const [first, blank] = [args.flag(1, "first"), args.flag(2, "blank")];
  return subject
    .split("\n")
    .map((line, index) => ((index > 0 || first) && (line !== "" || blank) ? prefix + line : line))
    .join("\n");
}

function centered(subject: string, width: number): string {
  const left = Math.max(0, width - subject.length) >> 1;
  return subject.padStart(subject.length + left).padEnd(width);
}

/** The arguments of transformers' `tojson`. */
function jsonStyle(args: Arguments): JsonStyle {
  const indent = args.at(1, "indent");
  const separators = args.at(2, "separators");
  const [item, key] = separators === undefined || separators.type === "NullValue" ? [] : iterated(separators);
  return {
    ensureAscii: args.flag(0, "ensure_ascii"),
    indent: indent?.type === "StringValue" ? indent.value : spaces(args.integer(1, "indent")),
    separators: item === undefined || key === undefined ? null : [pythonText(item), pythonText(key)],
    sortKeys: args.flag(3, "sort_keys"),
  };
}

function spaces(count: number | null): string | null {
  return count === null ? null : " ".repeat(Math.max(0, bounded(count)));
}

function defaulted(operand: Value, args: Arguments): Value {
  const isMissing = operand.type === "UndefinedValue" || (args.flag(1, "boolean") && !isTrue(operand));
  return isMissing ? (args.at(0, "default_value") ?? text("")) : operand;
}

function wholeNumber(value: Value): Value | null {
  const number = numberOf(value);
  if (number !== null) return integer(Math.trunc(number));
  if (value.type !== "StringValue") return null;
  const written = stripped(value.value, null).replaceAll("_", "");
  return /^[-+]?\d+(\.\d*)?$/.test(written) ? integer(Math.trunc(Number(written))) : null;
}

function decimalNumber(value: Value): Value | null {
  const number = numberOf(value);
  if (number !== null) return float(number);
  const written = value.type === "StringValue" ? stripped(value.value, null) : "";
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(written) ? float(Number(written)) : null;
}

function numeric(value: Value): number {
  const number = numberOf(value);
  if (number === null) throw new Error(`a number is needed, not ${nameOf(value)}`);
  return number;
}

function sameKind(value: Value, number: number): Value {
  return value.type === "FloatValue" ? float(number) : integer(number);
}

function rounded(operand: Value, args: Arguments): Value {
  const power = 10 ** (args.integer(0, "precision") ?? 0);
  const scaled = numeric(operand) * power;
  const method = args.text(1, "method") ?? "common";
  if (method === "ceil" || method === "floor") return float(Math[method](scaled) / power);
  const below = Math.floor(scaled);
  // Python rounds halves to even numbers.
  const isHalf = scaled - below === 0.5;
  return float((isHalf ? below + (below % 2 === 0 ? 0 : 1) : Math.round(scaled)) / power);
}

function lengthOf(value: Value): number {
  if (value.type === "StringValue") return Array.from(value.value).length;
  if (numberOf(value) !== null || value.type === "NullValue") throw new Error(`${nameOf(value)} has no length`);
  return iterated(value).length;
}

function itemsFilter(operand: Value, args: Arguments): Value {
  if (operand.type === "UndefinedValue") return list([]);
  if (!isMapping(operand)) throw new Error(`${nameOf(operand)} has no items`);
  return MAP_METHODS.get("items")!(operand, args);
}
