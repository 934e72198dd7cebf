import type { PausedWork } from "../../grammar/gbnf/paused-work.ts";
import { CUT_LENGTH, type Cut } from "./json-cuts.ts";

/** `syntax`: the text is not JSON. `text`: a string has a NUL character or a lone surrogate, which JSON can write as escapes. */
export class JsonFault extends Error {
  readonly kind: "syntax" | "text";

  constructor(kind: JsonFault["kind"]) {
    super(kind);
    this.kind = kind;
  }
}

type Container = unknown[] | Record<string, unknown>;

/**
 * The value that JSON.parse returns for the text, parsed in parts, with a pause after every few milliseconds of work.
 *
 * @param cuts of the whole text; empty for a text that is parsed at once
 * @throws JsonFault
 */
export function* jsonValue(text: string, cuts: readonly Cut[]): PausedWork<unknown> {
  if (cuts.length === 0) return checkedValue(text);
  const value = new ValueParts();
  let length = 0;
  for (const cut of cuts) {
    const part = "from" in cut ? text.slice(cut.from, cut.to) : "";
    value.add(cut, part);
    length += part.length;
    if (length < CUT_LENGTH) continue;
    length = 0;
    yield;
  }
  return value.whole();
}

/** A value that is assembled from its parts. */
class ValueParts {
  readonly #open: Container[] = [];
  #root: unknown;
  /** Key and parts of the open string; null when none is open. */
  #string: { key: string | null; texts: string[]; mayBreak: boolean } | null = null;

  add(cut: Cut, part: string): void {
    const inner = this.#open.at(-1);
    switch (cut.kind) {
      case "items":
        putAll(inner ?? refuse(), part);
        return;
      case "open":
        this.#open.push(this.#put(this.#keyOf(part), cut.array ? [] : {}));
        return;
      case "close":
        if (inner === undefined || Array.isArray(inner) !== cut.array) refuse();
        this.#open.pop();
        return;
      case "string":
        this.#string = { key: this.#keyOf(part), texts: [], mayBreak: false };
        return;
      case "text":
        this.#addText(part);
        return;
      case "endOfString":
        this.#endString();
        return;
      case "gap":
        if (!isBlank(part)) refuse();
    }
  }

  whole(): unknown {
    if (this.#open.length > 0 || this.#string !== null) refuse();
    return this.#root;
  }

  #addText(part: string): void {
    const { texts } = this.#string!;
    texts.push(parsed(`"${part}"`) as string);
    if (hasBrokenEscape(part)) this.#string!.mayBreak = true;
  }

  #endString(): void {
    const { key, texts, mayBreak } = this.#string!;
    const text = texts.join("");
    // The two halves of a surrogate pair may be in two parts.
    if (mayBreak && isBroken(text)) throw new JsonFault("text");
    this.#put(key, text);
    this.#string = null;
  }

  /** The key of a value in the open container, from the text before the value; null in an array and at the root. */
  #keyOf(part: string): string | null {
    const into = this.#open.at(-1);
    if (into === undefined) {
      if (this.#root !== undefined || !isBlank(part)) refuse();
      return null;
    }
    // `[]` stands for the value that follows.
    const found = checkedValue(Array.isArray(into) ? `[${part}[]]` : `{${part}[]}`) as object;
    return Array.isArray(into) ? null : Object.keys(found)[0]!;
  }

  #put<T>(key: string | null, value: T): T {
    const into = this.#open.at(-1);
    if (into === undefined) this.#root = value;
    else if (Array.isArray(into)) into.push(value);
    else put(into, key!, value);
    return value;
  }
}

function refuse(): never {
  throw new JsonFault("syntax");
}

/** True for the white space of JSON, which has four characters. */
function isBlank(text: string): boolean {
  return !/[^ \t\n\r]/.test(text);
}

/** Adds the items or members of a part to the container. */
function putAll(into: Container, part: string): void {
  if (Array.isArray(into)) {
    const items = checkedValue(`[${part}]`) as unknown[];
    if (items.length === 0) refuse();
    for (const item of items) into.push(item);
    return;
  }
  const members = checkedValue(`{${part}}`) as Record<string, unknown>;
  const keys = Object.keys(members);
  if (keys.length === 0) refuse();
  for (const key of keys) put(into, key, members[key]);
}

/** Like JSON.parse: the last of equal keys counts, at the position of the first, and __proto__ is an ordinary key. */
function put(into: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
  } else into[key] = value;
}

function checkedValue(text: string): unknown {
  const value = parsed(text);
  if (hasBrokenEscape(text) && hasBrokenText(value)) throw new JsonFault("text");
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse();
  }
}

/** True if the text may have an escaped NUL or surrogate; JSON cannot write a NUL in another way. */
function hasBrokenEscape(json: string): boolean {
  return json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
}

function hasBrokenText(value: unknown): boolean {
  if (typeof value === "string") return isBroken(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBrokenText);
  return Object.entries(value).some(([key, entry]) => isBroken(key) || hasBrokenText(entry));
}

function isBroken(text: string): boolean {
  return text.includes("\0") || !text.isWellFormed();
}
