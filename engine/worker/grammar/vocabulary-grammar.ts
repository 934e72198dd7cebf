import { setImmediate as rest } from "node:timers/promises";
import { compiledGbnf, compileGbnf } from "../../../grammar/network.ts";
import type { GrammarRule } from "../../protocol/request.ts";
import { type TextOwner, TokenizeQueue } from "../text/tokenize-queue.ts";
import { Automaton, type State } from "./automaton.ts";
import { Slices } from "./slices.ts";
import { TokenTrie } from "./token-trie.ts";

/** What is asked of a vocabulary. */
export interface TokenBytes {
  readonly size: number;
  readonly endTokens: readonly number[];
  isEnd(token: number): boolean;
  piece(token: number): Uint8Array;
}

type Grammar = Pick<GrammarRule, "gbnf" | "lead">;

/** Grammars that are kept; one has at most some megabytes. */
const MOST_GRAMMARS = 32;
const MASK_BYTES = 64 * 1024 * 1024;

/** Grammars over one vocabulary: compiled once, with the tokens that each of their states allows. Bounded in memory. */
export class VocabularyGrammars {
  readonly vocabulary: TokenBytes;
  readonly #trie: TokenTrie;
  readonly #slices: Slices;
  /** Those that are compiled at once are few, as each takes some megabytes. */
  readonly #queue = new TokenizeQueue();
  readonly #automatons = new Map<string, Automaton>();
  readonly #compiling = new Map<string, Promise<void>>();
  readonly #masks = new Map<State, Uint32Array>();
  readonly #mostMasks: number;

  /** Walks the whole vocabulary: 0.3 s for 150,000 tokens. */
  constructor(vocabulary: TokenBytes, slices = new Slices({ now: () => performance.now(), rest })) {
    this.vocabulary = vocabulary;
    this.#slices = slices;
    const none = new Uint8Array(0);
    const pieceOf = (_: unknown, token: number) => (vocabulary.isEnd(token) ? none : vocabulary.piece(token));
    this.#trie = new TokenTrie(Array.from({ length: vocabulary.size }, pieceOf));
    this.#mostMasks = Math.max(64, Math.floor(MASK_BYTES / (vocabulary.size / 8)));
  }

  /**
   * Compiles a grammar beside the steps, so that automaton() finds it: a large one takes a quarter of a second.
   *
   * @throws GbnfError
   */
  async prepare(rule: Grammar, owner: TextOwner): Promise<void> {
    const key = keyOf(rule);
    if (!this.#keepsOn(key)) await this.#queue.run(owner, () => this.#prepared(key, rule));
  }

  /** @throws GbnfError */
  automaton(rule: Grammar): Automaton {
    const key = keyOf(rule);
    const automaton = this.#automatons.get(key) ?? new Automaton(compileGbnf(rule.gbnf, rule.lead));
    keep(this.#automatons, key, automaton, MOST_GRAMMARS);
    return automaton;
  }

  /** The tokens that may come now, one bit each; end tokens where the text is complete. Not to be written to. */
  allowed(automaton: Automaton, state: State): Uint32Array {
    const mask = this.#masks.get(state) ?? this.#made(automaton, state);
    // One that was cut short for want of credit says too little.
    if (!automaton.exhausted) keep(this.#masks, state, mask, this.#mostMasks);
    return mask;
  }

  async #prepared(key: string, rule: Grammar): Promise<void> {
    if (this.#keepsOn(key)) return;
    const compiling = this.#compiling.get(key) ?? this.#compiled(key, rule).finally(() => this.#compiling.delete(key));
    this.#compiling.set(key, compiling);
    await compiling;
  }

  async #compiled(key: string, { gbnf, lead }: Grammar): Promise<void> {
    const network = await this.#slices.run(compiledGbnf(gbnf, lead));
    keep(this.#automatons, key, new Automaton(network), MOST_GRAMMARS);
  }

  /** Whether it is kept; then it counts as asked for. */
  #keepsOn(key: string): boolean {
    const automaton = this.#automatons.get(key);
    if (automaton !== undefined) keep(this.#automatons, key, automaton, MOST_GRAMMARS);
    return automaton !== undefined;
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

/** Puts an entry last, and drops the first, which was not asked for the longest. */
function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest);
}
