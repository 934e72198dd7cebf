import { setImmediate as nextTurn } from "node:timers/promises";
import { compiledGbnf } from "../../../grammar/gbnf/compile-gbnf.ts";
import type { GrammarRule } from "../../protocol/request.ts";
import { type TextOwner, TokenizeQueue } from "../text/tokenize-queue.ts";
import { Automaton, type State } from "./automaton.ts";
import { Slices } from "./slices.ts";
import { TokenTrie } from "./token-trie.ts";

/** The part of a vocabulary that grammars need. */
export interface TokenBytes {
  readonly size: number;
  readonly endTokens: readonly number[];
  isEnd(token: number): boolean;
  piece(token: number): Uint8Array;
}

type Grammar = Pick<GrammarRule, "gbnf" | "lead">;

/** Cached grammars; one has at most some megabytes. */
const MOST_GRAMMARS = 32;
const MASK_BYTES = 64 * 1024 * 1024;

/** A cache of compiled grammars over one vocabulary, with the allowed tokens of their states. Bounded in memory. */
export class VocabularyGrammars {
  readonly vocabulary: TokenBytes;
  readonly #trie: TokenTrie;
  readonly #slices: Slices;
  /** Bounds the grammars that are compiled at once, as each takes some megabytes. */
  readonly #submitted = new TokenizeQueue();
  /** A queue of its own, so that started sequences do not wait behind submitted requests. */
  readonly #started = new TokenizeQueue();
  readonly #automatons = new Map<string, Automaton>();
  readonly #compiling = new Map<string, Promise<Automaton>>();
  readonly #masks = new Map<State, Uint32Array>();
  readonly #mostMasks: number;

  /** Walks the whole vocabulary: 0.3 s for 150,000 tokens. */
  constructor(vocabulary: TokenBytes, slices = new Slices({ now: () => performance.now(), nextTurn })) {
    this.vocabulary = vocabulary;
    this.#slices = slices;
    const none = new Uint8Array(0);
    const pieceOf = (_: unknown, token: number) => (vocabulary.isEnd(token) ? none : vocabulary.piece(token));
    this.#trie = new TokenTrie(Array.from({ length: vocabulary.size }, pieceOf));
    this.#mostMasks = Math.max(64, Math.floor(MASK_BYTES / (vocabulary.size / 8)));
  }

  /**
   * Compiles the grammar of a submitted request beside the steps; a large one takes a quarter of a second.
   *
   * @throws GbnfError
   */
  async prepare(rule: Grammar, owner: TextOwner): Promise<void> {
    if (this.kept(rule) === null) await this.#submitted.run(owner, () => this.#compiled(rule));
  }

  /** Null for a grammar that is not cached. A hit makes it the most recently used one. */
  kept(rule: Grammar): Automaton | null {
    const key = keyOf(rule);
    const automaton = this.#automatons.get(key) ?? null;
    if (automaton !== null) keep(this.#automatons, key, automaton, MOST_GRAMMARS);
    return automaton;
  }

  /**
   * Compiles a grammar that the cache has dropped, for a started sequence, beside the steps.
   *
   * @returns null when the sequence is cancelled before the compilation starts
   */
  again(rule: Grammar, owner: TextOwner): Promise<Automaton | null> {
    return this.#started.run(owner, () => this.#compiled(rule));
  }

  /** The tokens that may follow, one bit each; end tokens where the text is complete. Callers do not change it. */
  allowed(automaton: Automaton, state: State): Uint32Array {
    const mask = this.#masks.get(state) ?? this.#made(automaton, state);
    // A mask that was computed without enough credit lacks tokens.
    if (!automaton.exhausted) keep(this.#masks, state, mask, this.#mostMasks);
    return mask;
  }

  async #compiled(rule: Grammar): Promise<Automaton> {
    const kept = this.kept(rule);
    if (kept !== null) return kept;
    const key = keyOf(rule);
    const compiling = this.#compiling.get(key) ?? this.#compile(key, rule).finally(() => this.#compiling.delete(key));
    this.#compiling.set(key, compiling);
    return compiling;
  }

  async #compile(key: string, { gbnf, lead }: Grammar): Promise<Automaton> {
    const automaton = new Automaton(await this.#slices.run(compiledGbnf(gbnf, lead)));
    keep(this.#automatons, key, automaton, MOST_GRAMMARS);
    return automaton;
  }

  #made(automaton: Automaton, state: State): Uint32Array {
    const mask = this.#trie.allowed(automaton, state);
    if (state.complete) for (const end of this.vocabulary.endTokens) mask[end >>> 5]! |= 1 << (end & 31);
    return mask;
  }
}

function keyOf({ gbnf, lead = "" }: Grammar): string {
  // A lead has no line breaks.
  return `${lead}\n${gbnf}`;
}

/** Puts an entry last, and drops the first, which is the least recently used one. */
function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest);
}
