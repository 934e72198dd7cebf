import type { SpecialTokens } from "./special-tokens.ts";

/** A part of a prompt. Literal text is tokenized without parsing special tokens in it. */
export interface PromptPiece {
  text: string;
  literal: boolean;
}

/** `open` guards whole special tokens in a string; `closed` also parts that a template could complete or join. */
export type Guard = "open" | "closed";

/** Field names of messages, tools and JSON schemas. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    "role content name reasoning_content tool_calls tool_call_id id type function arguments description parameters " +
    "properties required items enum const default format title additionalProperties anyOf oneOf allOf nullable"
  ).split(" "),
);

const PRIVATE_USE = /[\uE000-\uF8FF]|\\u(?:e[0-9a-f]{3}|f[0-8][0-9a-f]{2})/gi;
const ASTRAL_PRIVATE_USE = /[\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}]/gu;
const REPLACEMENT = /[\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}]|\\u(?:e[0-9a-f]{3}|f[0-8][0-9a-f]{2})/giu;

/**
 * Keeps special tokens in a client's text from becoming special: each is replaced by one private-use character while the
 * template renders, and restored afterwards as a literal piece.
 *
 * A private-use character survives what templates do to text: it is no white space, has no case, is one UTF-16 unit
 * that no slice can cut, passes JSON (with `ensure_ascii` it comes out as an escape, which is restored too), and equal
 * texts get equal characters, so comparing works. Only characters that occur neither in the client's text nor in the
 * template are used; so private-use characters of the client stay as they are.
 */
export class SpecialTokenEscaping {
  readonly #tokens: SpecialTokens;
  readonly #templateSource: string;
  readonly #free: Iterator<string>;
  readonly #byText = new Map<string, string>();
  readonly #byReplacement = new Map<string, string>();

  /** @param userText all text of the client, in any form that keeps its characters */
  constructor(tokens: SpecialTokens, templateSource: string, userText: string) {
    this.#tokens = tokens;
    this.#templateSource = templateSource;
    this.#free = freeCharacters(templateSource + userText);
  }

  /**
   * A copy of `value` with all of its strings guarded, keys of objects included. Field names that templates look up stay: they
   * are no text of a client, and may be parts of tokens (`tool_calls` is one of `<|tool_calls_section_begin|>`).
   */
  protect(value: unknown, guard: Guard): unknown {
    if (typeof value === "string") return guard === "open" ? this.#open(value) : this.#closed(value);
    if (Array.isArray(value)) return value.map((item) => this.protect(item, guard));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        FIELDS.has(key) ? key : this.protect(key, guard),
        this.protect(item, guard),
      ]),
    );
  }

  /** Cuts text that was rendered from guarded values at its replacements. No piece is empty. */
  split(rendered: string): PromptPiece[] {
    if (this.#byReplacement.size === 0) return rendered === "" ? [] : [{ text: rendered, literal: false }];
    const pieces: PromptPiece[] = [];
    let end = 0;
    for (const match of rendered.matchAll(REPLACEMENT)) {
      const text = this.#original(match[0]);
      if (text === undefined) continue;
      if (match.index > end) pieces.push({ text: rendered.slice(end, match.index), literal: false });
      const last = pieces.at(-1);
      if (last?.literal) last.text += text;
      else pieces.push({ text, literal: true });
      end = match.index + match[0].length;
    }
    if (end < rendered.length) pieces.push({ text: rendered.slice(end), literal: false });
    return pieces;
  }

  /** `rendered` with the client's own text in place of the replacements. */
  restore(rendered: string): string {
    return rendered.replace(REPLACEMENT, (match) => this.#original(match) ?? match);
  }

  #original(match: string): string | undefined {
    const character = match.startsWith("\\u") ? String.fromCharCode(Number.parseInt(match.slice(2), 16)) : match;
    return this.#byReplacement.get(character);
  }

  #open(text: string): string {
    return this.#withoutTokens(text, this.#tokens.whole);
  }

  /**
   * No special token can begin, end or lie in the result, with any text that a template puts around it. A string that the template
   * itself quotes is the value of a switch (`high`), which has to compare equal.
   */
  #closed(text: string): string {
    if (this.#tokens.isPart(text)) return this.#isQuoted(text) ? this.#open(text) : this.#replaced(text);
    const start = this.#tokens.openStart(text);
    const head = start > 0 ? this.#replaced(text.slice(0, start)) : "";
    return head + this.#withoutTokens(text.slice(start), this.#tokens.beginning);
  }

  /** The open end is replaced too: another text of the client may follow in the prompt and complete it. */
  #withoutTokens(text: string, pattern: RegExp): string {
    let result = "";
    let end = 0;
    for (const match of text.matchAll(pattern)) {
      result += text.slice(end, match.index) + this.#replaced(match[0]);
      end = match.index + match[0].length;
    }
    const rest = end === 0 ? text : text.slice(end);
    const open = this.#tokens.openEnd(rest);
    if (open === 0) return result + rest;
    return result + rest.slice(0, rest.length - open) + this.#replaced(rest.slice(rest.length - open));
  }

  #isQuoted(text: string): boolean {
    return this.#templateSource.includes(`"${text}"`) || this.#templateSource.includes(`'${text}'`);
  }

  #replaced(text: string): string {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const next = this.#free.next();
    // 137,000 different texts, or all private-use characters in one request: an attack.
    if (next.done) throw new Error("the messages use every private-use character of Unicode");
    this.#byText.set(text, next.value);
    this.#byReplacement.set(next.value, text);
    return next.value;
  }
}

function* freeCharacters(used: string): Generator<string, void> {
  const taken = new Set<number>();
  for (const [match] of used.matchAll(PRIVATE_USE)) {
    taken.add(match.startsWith("\\") ? Number.parseInt(match.slice(2), 16) : match.charCodeAt(0));
  }
  for (let code = 0xe000; code <= 0xf8ff; code += 1) {
    if (!taken.has(code)) yield String.fromCharCode(code);
  }
  for (const [match] of used.matchAll(ASTRAL_PRIVATE_USE)) taken.add(match.codePointAt(0)!);
  for (let code = 0xf0000; code <= 0x10fffd; code += 1) {
    if (!taken.has(code) && (code & 0xffff) < 0xfffe) yield String.fromCodePoint(code);
  }
}
