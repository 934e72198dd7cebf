import type { GrammarRule } from "../../protocol/request.ts";
import type { ReasoningForm } from "../text/output/reasoning-tags.ts";
import type { TextOwner } from "../text/tokenize-queue.ts";
import type { Automaton, State } from "./automaton.ts";
import { maskLogits, type RemainingTokens } from "./logit-mask.ts";
import type { VocabularyGrammars } from "./vocabulary-grammar.ts";

/** Bytes of white space that a model may write between its reasoning and the answer. */
const MOST_GAP = 16;

/**
 * The position of a sequence:
 *
 * | phase    | allowed                                                  | ends with                      |
 * |----------|----------------------------------------------------------|--------------------------------|
 * | opening  | no text yet: reasoning may begin with its tag, or be empty | any token                    |
 * | thoughts | anything, no end token                                   | the close tag, or a call       |
 * | gap      | up to `MOST_GAP` of white space, no end token            | any other character            |
 * | search   | anything: no trigger so far                              | a trigger                      |
 * | grammar  | text of the grammar                                      | an end token, when complete    |
 *
 * Text is held as one character per byte.
 */
type Position =
  | { phase: "opening" }
  | { phase: "thoughts"; tail: string }
  | { phase: "gap"; length: number }
  | { phase: "search"; tail: string }
  | { phase: "grammar"; automaton: Automaton; state: State };

export interface ConstraintOptions extends ReasoningForm {
  rule: GrammarRule;
  grammars: VocabularyGrammars;
  /** Called when a constraint that was not ready becomes ready. */
  wake: () => void;
}

/** Restricts one sequence to its grammar: only allowed tokens are drawn. */
export class GrammarConstraint {
  readonly #options: ConstraintOptions;
  readonly #open: string | null;
  readonly #close: string;
  readonly #callMarks: readonly string[];
  /** Characters before a token that may be the beginning of the close tag or of a call. */
  readonly #longestTail: number;
  readonly #triggers: readonly string[] | null;
  #position: Position;
  /** Held from the sequence's start on, also when the cache drops it. */
  #automaton: Automaton | null = null;
  #compiling = false;
  /** The position after the token that was checked last, so that accept() needs no second walk. */
  #checked: { token: number; next: Position | null } | null = null;

  constructor(options: ConstraintOptions) {
    const { reasoningTags, startsInReasoning, callMarks = [], rule } = options;
    this.#options = options;
    this.#open = reasoningTags === null ? null : bytesOf(reasoningTags.openToken ?? reasoningTags.open);
    this.#close = reasoningTags === null ? "" : bytesOf(reasoningTags.close);
    this.#callMarks = callMarks.map(bytesOf);
    this.#longestTail = Math.max(...[this.#close, ...this.#callMarks].map((mark) => mark.length)) - 1;
    this.#triggers = rule.triggers === null ? null : rule.triggers.map(bytesOf);
    this.#position =
      startsInReasoning && reasoningTags !== null ? { phase: "thoughts", tail: "" } : { phase: "opening" };
  }

  /** True when tokens can be checked. The first call takes the automaton from the cache, or starts to compile it. */
  ready(owner: TextOwner): boolean {
    if (this.#automaton === null && !this.#compiling) {
      const { grammars, rule } = this.#options;
      this.#automaton = grammars.kept(rule);
      if (this.#automaton === null) void this.#compile(owner);
    }
    return this.#automaton !== null;
  }

  /** True when only an end token may follow. */
  get over(): boolean {
    return this.#position.phase === "grammar" && this.#position.state.over;
  }

  allows(token: number): boolean {
    return this.#after(token) !== null;
  }

  /** Takes an allowed token. @throws Error for another one */
  accept(token: number): void {
    const next = this.#after(token);
    if (next === null) throw new Error(`The grammar does not allow token ${token}.`);
    this.#position = next;
    this.#checked = null;
    if (next.phase === "grammar") next.automaton.pay();
  }

  /** Makes tokens that are not allowed impossible to draw; `refused` is such a token that was drawn. */
  restrict(logits: Float32Array, refused: number): RemainingTokens {
    const mask = this.#mask();
    if (mask !== null) return maskLogits(logits, mask);
    const { vocabulary } = this.#options.grammars;
    logits[refused] = Number.NEGATIVE_INFINITY;
    if (this.#position.phase === "thoughts")
      for (const end of vocabulary.endTokens) logits[end] = Number.NEGATIVE_INFINITY;
    return { count: 2, token: -1 };
  }

  /** Null while nearly all tokens are allowed. */
  #mask(): Uint32Array | null {
    const { phase } = this.#position;
    if (phase === "thoughts" || phase === "search") return null;
    if (phase !== "grammar" && this.#triggers !== null) return null;
    const { grammars } = this.#options;
    if (this.#position.phase === "grammar") return grammars.allowed(this.#position.automaton, this.#position.state);
    const automaton = this.#held;
    return grammars.allowed(automaton, automaton.start);
  }

  async #compile(owner: TextOwner): Promise<void> {
    this.#compiling = true;
    const { grammars, rule, wake } = this.#options;
    this.#automaton = await grammars.again(rule, owner);
    this.#compiling = false;
    wake();
  }

  get #held(): Automaton {
    if (this.#automaton === null) throw new Error("A sequence was computed before its grammar was ready.");
    return this.#automaton;
  }

  #after(token: number): Position | null {
    if (this.#checked?.token !== token) this.#checked = { token, next: this.#follow(token) };
    return this.#checked.next;
  }

  #follow(token: number): Position | null {
    const { vocabulary } = this.#options.grammars;
    const position = this.#position;
    if (vocabulary.isEnd(token)) return this.#mayEnd(position) ? position : null;
    const piece = vocabulary.piece(token);
    if (position.phase === "grammar")
      return piece.length === 0 ? null : this.#read(position.automaton, position.state, piece);
    const text = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString("latin1");
    switch (position.phase) {
      case "opening":
        if (this.#open !== null && text.startsWith(this.#open)) return this.#think("", text.slice(this.#open.length));
        if (this.#close !== "" && text.startsWith(this.#close)) return this.#skip(0, text.slice(this.#close.length));
        return text === "" && this.#triggers === null ? null : this.#begin(text);
      case "thoughts":
        return this.#think(position.tail, text);
      case "gap":
        return this.#skip(position.length, text);
      case "search":
        return this.#search(position.tail, text);
    }
  }

  #mayEnd(position: Position): boolean {
    if (position.phase === "grammar") return position.state.complete;
    if (position.phase === "search") return true;
    return position.phase === "opening" && (this.#triggers !== null || this.#held.start.complete);
  }

  #think(tail: string, text: string): Position | null {
    const all = tail + text;
    const at = all.indexOf(this.#close);
    const called = this.#callMarks.map((mark) => all.indexOf(mark)).filter((index) => index >= 0);
    const call = Math.min(...called);
    if (called.length > 0 && (at < 0 || call < at)) return this.#begin(all.slice(call));
    if (at < 0) return { phase: "thoughts", tail: all.slice(-this.#longestTail) };
    return this.#skip(0, all.slice(at + this.#close.length));
  }

  #skip(length: number, text: string): Position | null {
    const rest = text.replace(/^[ \t\r\n]+/, "");
    const skipped = length + text.length - rest.length;
    if (rest !== "") return this.#begin(rest);
    return skipped <= MOST_GAP ? { phase: "gap", length: skipped } : null;
  }

  #begin(text: string): Position | null {
    if (this.#triggers !== null) return this.#search("", text);
    const automaton = this.#held;
    return this.#read(automaton, automaton.start, Buffer.from(text, "latin1"));
  }

  #search(tail: string, text: string): Position | null {
    const all = tail + text;
    const triggers = this.#triggers ?? [];
    const found = triggers.map((trigger) => all.indexOf(trigger)).filter((at) => at >= 0);
    if (found.length === 0) {
      const longest = Math.max(1, ...triggers.map((trigger) => trigger.length));
      return { phase: "search", tail: longest === 1 ? "" : all.slice(-(longest - 1)) };
    }
    const automaton = this.#held;
    return this.#read(automaton, automaton.start, Buffer.from(all.slice(Math.min(...found)), "latin1"));
  }

  #read(automaton: Automaton, from: State, bytes: Uint8Array): Position | null {
    const state = automaton.walk(from, bytes);
    return state === null ? null : { phase: "grammar", automaton, state };
  }
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString("latin1");
}
