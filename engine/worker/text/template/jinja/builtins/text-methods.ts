import { pythonText } from "../values/python-text.ts";
import { boolean, integer, isList, iterated, list, nameOf, text, tuple, type Value } from "../values/values.ts";
import type { Arguments } from "./arguments.ts";

type TextMethod = (subject: string, args: Arguments) => Value;

/** White space as Python strips it: without the byte order mark, with the separators of ASCII. */
const SPACES = new Set([
  ...ranges([0x09, 0x0d], [0x1c, 0x20], [0x2000, 0x200a]),
  0x85,
  0xa0,
  0x1680,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
]);
const LINE_ENDS = new Set([...ranges([0x0a, 0x0d], [0x1c, 0x1e]), 0x85, 0x2028, 0x2029]);
/** Characters of a padded text. */
const LONGEST_WIDTH = 1_000_000;

/** Methods of Python's str. */
export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ["upper", (subject) => text(subject.toUpperCase())],
  ["lower", (subject) => text(subject.toLowerCase())],
  ["capitalize", (subject) => text(capitalized(subject))],
  ["title", (subject) => text(titled(subject))],
  ["strip", (subject, args) => text(stripped(subject, args.text(0, "chars")))],
  ["lstrip", (subject, args) => text(strippedLeft(subject, args.text(0, "chars")))],
  ["rstrip", (subject, args) => text(strippedRight(subject, args.text(0, "chars")))],
  ["startswith", (subject, args) => boolean(affixes(args).some((prefix) => subject.startsWith(prefix)))],
  ["endswith", (subject, args) => boolean(affixes(args).some((suffix) => subject.endsWith(suffix)))],
  ["removeprefix", (subject, args) => text(withoutPrefix(subject, args.text(0, "prefix") ?? ""))],
  ["removesuffix", (subject, args) => text(withoutSuffix(subject, args.text(0, "suffix") ?? ""))],
  ["split", (subject, args) => list(split(subject, args.text(0, "sep"), args.integer(1, "maxsplit") ?? -1).map(text))],
  [
    "rsplit",
    (subject, args) => list(splitRight(subject, args.text(0, "sep"), args.integer(1, "maxsplit") ?? -1).map(text)),
  ],
  ["splitlines", (subject) => list(lines(subject).map(text))],
  ["partition", (subject, args) => tuple(parted(subject, args.text(0, "sep") ?? "", subject.indexOf.bind(subject)))],
  [
    "rpartition",
    (subject, args) => {
      const separator = args.text(0, "sep") ?? "";
      const found = subject.includes(separator);
      const parts = parted(subject, separator, subject.lastIndexOf.bind(subject));
      return tuple(found ? parts : parts.reverse());
    },
  ],
  ["replace", (subject, args) => text(replaced(subject, args))],
  ["join", (subject, args) => text(iterated(args.required(0, "iterable")).map(joinable).join(subject))],
  ["find", (subject, args) => integer(found(subject, args, "indexOf"))],
  ["rfind", (subject, args) => integer(found(subject, args, "lastIndexOf"))],
  ["index", (subject, args) => integer(indexed(found(subject, args, "indexOf")))],
  ["rindex", (subject, args) => integer(indexed(found(subject, args, "lastIndexOf")))],
  ["count", (subject, args) => integer(subject.split(args.text(0, "sub") ?? "").length - 1)],
  ["format", (subject, args) => text(filled(subject, args))],
  ["isdigit", (subject) => boolean(/^\p{Nd}+$/u.test(subject))],
  ["isnumeric", (subject) => boolean(/^\p{N}+$/u.test(subject))],
  ["isalpha", (subject) => boolean(/^\p{L}+$/u.test(subject))],
  ["isalnum", (subject) => boolean(/^[\p{L}\p{N}]+$/u.test(subject))],
  ["isspace", (subject) => boolean(subject !== "" && stripped(subject, null) === "")],
  ["isupper", (subject) => boolean(/\p{Lu}/u.test(subject) && subject === subject.toUpperCase())],
  ["islower", (subject) => boolean(/\p{Ll}/u.test(subject) && subject === subject.toLowerCase())],
  ["ljust", (subject, args) => text(subject.padEnd(width(args), args.text(1, "fillchar") ?? " "))],
  ["rjust", (subject, args) => text(subject.padStart(width(args), args.text(1, "fillchar") ?? " "))],
  ["zfill", (subject, args) => text(subject.padStart(width(args), "0"))],
]);

function ranges(...bounds: [first: number, last: number][]): number[] {
  return bounds.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
}

export function stripped(subject: string, characters: string | null): string {
  return strippedRight(strippedLeft(subject, characters), characters);
}

function strippedLeft(subject: string, characters: string | null): string {
  let at = 0;
  while (at < subject.length && isStripped(subject, at, characters)) at++;
  return subject.slice(at);
}

function strippedRight(subject: string, characters: string | null): string {
  let end = subject.length;
  while (end > 0 && isStripped(subject, end - 1, characters)) end--;
  return subject.slice(0, end);
}

/** Null characters are white space. */
function isStripped(subject: string, at: number, characters: string | null): boolean {
  return characters === null ? SPACES.has(subject.charCodeAt(at)) : characters.includes(subject[at]!);
}

export function capitalized(subject: string): string {
  const [first = "", ...rest] = Array.from(subject);
  return first.toUpperCase() + rest.join("").toLowerCase();
}

function titled(subject: string): string {
  return subject.replace(/\p{L}+/gu, capitalized);
}

function affixes(args: Arguments): string[] {
  const given = args.required(0, "prefix");
  return (isList(given) ? given.value : [given]).map(joinable);
}

function withoutPrefix(subject: string, prefix: string): string {
  return subject.startsWith(prefix) ? subject.slice(prefix.length) : subject;
}

function withoutSuffix(subject: string, suffix: string): string {
  return suffix !== "" && subject.endsWith(suffix) ? subject.slice(0, -suffix.length) : subject;
}

function split(subject: string, separator: string | null, most: number): string[] {
  if (separator === "") throw new Error("the separator is empty");
  if (separator !== null) {
    const parts = subject.split(separator);
    return most < 0 || parts.length <= most ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
  }
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    while (at < subject.length && isStripped(subject, at, null)) at++;
    if (at === subject.length) return parts;
    if (most >= 0 && parts.length === most) return [...parts, subject.slice(at)];
    const from = at;
    while (at < subject.length && !isStripped(subject, at, null)) at++;
    parts.push(subject.slice(from, at));
  }
}

function splitRight(subject: string, separator: string | null, most: number): string[] {
  const parts = split(separator === null ? stripped(subject, null) : subject, separator, -1);
  if (most < 0 || parts.length <= most) return parts;
  const joined = parts.slice(0, parts.length - most).join(separator ?? " ");
  return [joined, ...parts.slice(parts.length - most)];
}

function lines(subject: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < subject.length; at++) {
    if (!LINE_ENDS.has(subject.charCodeAt(at))) continue;
    parts.push(subject.slice(from, at));
    if (subject.startsWith("\r\n", at)) at++;
    from = at + 1;
  }
  return from < subject.length ? [...parts, subject.slice(from)] : parts;
}

function parted(subject: string, separator: string, indexOf: (part: string) => number): Value[] {
  const at = indexOf(separator);
  if (separator === "") throw new Error("the separator is empty");
  if (at === -1) return [subject, "", ""].map(text);
  return [subject.slice(0, at), separator, subject.slice(at + separator.length)].map(text);
}

export function replaced(subject: string, args: Arguments): string {
  const [old, by] = [args.text(0, "old"), args.text(1, "new")];
  if (old === null || by === null) throw new Error("replace() needs two texts");
  const most = args.integer(2, "count") ?? -1;
  if (most < 0) return subject.replaceAll(old, () => by);
  let left = most;
  return subject.replaceAll(old, () => (left-- > 0 ? by : old));
}

function joinable(item: Value): string {
  if (item.type !== "StringValue") throw new Error(`a text is needed, not ${nameOf(item)}`);
  return item.value;
}

function found(subject: string, args: Arguments, method: "indexOf" | "lastIndexOf"): number {
  const part = args.text(0, "sub") ?? "";
  const from = args.integer(1, "start") ?? 0;
  const at = method === "indexOf" ? subject.indexOf(part, from) : subject.lastIndexOf(part);
  return at < from ? -1 : at;
}

function indexed(at: number): number {
  if (at === -1) throw new Error("the text is not found");
  return at;
}

/** Fields `{}`, `{0}` and `{name}`, without format specifications. */
function filled(subject: string, args: Arguments): string {
  let next = 0;
  return subject.replace(/\{\{|\}\}|\{(\w*)\}/g, (match, field: string | undefined) => {
    if (field === undefined) return match[0]!;
    const index = field === "" ? next++ : Number(field);
    const value = Number.isInteger(index) ? args.positional[index] : args.named.get(field);
    if (value === undefined) throw new Error(`format() has no value for '${match}'`);
    return pythonText(value);
  });
}

function width(args: Arguments): number {
  const given = args.integer(0, "width") ?? 0;
  if (given > LONGEST_WIDTH) throw new Error(`a width of more than ${LONGEST_WIDTH}`);
  return given;
}
