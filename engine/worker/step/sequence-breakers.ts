import type { Vocabulary } from "../native/vocabulary.ts";

export type BreakerVocabulary = Pick<Vocabulary, "alone" | "tokenizeNow">;

/** Most tokens behind the first one of a breaker; the bound of llama.cpp. */
const MOST_TAIL = 20;
/** Most kept lists of breakers: nearly every request has the default. */
const MOST_LISTS = 8;
const NO_TAILS: readonly Int32Array[] = [];
/** Of a token that contains a breaker. */
const NO_REST = new Int32Array(0);

/**
 * The texts that no repetition of DRY extends across, as tokens. A token begins a breaker when its text contains it, or ends
 * with the breaker's beginning: then the tokens of the rest, its tail, must follow. llama.cpp looks at the whole vocabulary
 * when a sampler is made, which takes a tenth of a second; here each token is looked at when it first occurs.
 */
export class SequenceBreakers {
  readonly #texts: readonly Buffer[];
  readonly #vocabulary: BreakerVocabulary;
  /** The tails of each token that was looked at; an empty one where it contains a breaker. */
  readonly #tails = new Map<number, readonly Int32Array[]>();
  readonly #rests = new Map<string, Int32Array>();

  constructor(texts: readonly string[], vocabulary: BreakerVocabulary) {
    this.#texts = texts.map((text) => Buffer.from(text));
    this.#vocabulary = vocabulary;
  }

  /** Whether this token alone is or contains a breaker. */
  contains(token: number): boolean {
    return this.tails(token).some((tail) => tail.length === 0);
  }

  tails(token: number): readonly Int32Array[] {
    let found = this.#tails.get(token);
    if (found === undefined) {
      found = this.#look(token);
      this.#tails.set(token, found);
    }
    return found;
  }

  /**
   * The number of last tokens behind the last breaker: no repetition is longer.
   *
   * @param tokens the window is its part from `from` on
   */
  limit(tokens: readonly number[], from: number): number {
    const last = tokens.length - 1;
    for (let i = 0; last - i >= from; i++) {
      const longest = this.#longestTail(tokens, last - i);
      if (longest >= 0) return i - longest;
    }
    return tokens.length - from;
  }

  /** The length of the longest tail that follows the token at this position; −1 for none. */
  #longestTail(tokens: readonly number[], position: number): number {
    let longest = -1;
    for (const tail of this.tails(tokens[position]!)) {
      if (tail.length <= longest || position + tail.length >= tokens.length) continue;
      if (tail.every((token, offset) => tokens[position + 1 + offset] === token)) longest = tail.length;
    }
    return longest;
  }

  #look(token: number): readonly Int32Array[] {
    const text = Buffer.from(this.#vocabulary.alone(token));
    const tails = this.#texts.flatMap((breaker) =>
      text.includes(breaker) ? [NO_REST] : this.#restsAfter(text, breaker),
    );
    return tails.length === 0 ? NO_TAILS : tails;
  }

  /** The tokens of the rest of a breaker, for each way in which the text ends with its beginning. */
  #restsAfter(text: Buffer, breaker: Buffer): Int32Array[] {
    const rests: Int32Array[] = [];
    for (let begun = 1; begun < breaker.length && begun <= text.length; begun++) {
      const start = text.length - begun;
      if (text[start] !== breaker[0] || !text.subarray(start).equals(breaker.subarray(0, begun))) continue;
      rests.push(this.#tokensOf(breaker.subarray(begun)));
    }
    return rests;
  }

  #tokensOf(rest: Buffer): Int32Array {
    const key = rest.toString("latin1");
    let tokens = this.#rests.get(key);
    if (tokens === undefined) {
      tokens = this.#vocabulary.tokenizeNow(rest, { special: false }).slice(0, MOST_TAIL);
      this.#rests.set(key, tokens);
    }
    return tokens;
  }
}

/** The breakers of recent requests, so that their tokens are looked at once. */
export class BreakerLists {
  readonly #vocabulary: BreakerVocabulary;
  /** By their texts, the last used last. */
  readonly #lists = new Map<string, SequenceBreakers>();

  constructor(vocabulary: BreakerVocabulary) {
    this.#vocabulary = vocabulary;
  }

  of(texts: readonly string[]): SequenceBreakers {
    const key = JSON.stringify(texts);
    const breakers = this.#lists.get(key) ?? new SequenceBreakers(texts, this.#vocabulary);
    this.#lists.delete(key);
    this.#lists.set(key, breakers);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > MOST_LISTS) this.#lists.delete(oldest!);
    return breakers;
  }
}
