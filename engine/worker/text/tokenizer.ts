import { setImmediate as nextTurn } from "node:timers/promises";
import type { TokenizeOptions, Vocabulary } from "../native/vocabulary.ts";
import { type TextOwner, TokenizeQueue } from "./tokenize-queue.ts";

/** Bytes above which a text is tokenized on another thread: below, the call there costs more than the work. */
const LONG_TEXT = 16 * 1024;
/** Bytes of text that any context allows: some vocabularies make few tokens of much text, such as of white space. */
const LEAST_BOUND = 64 * 1024;

export interface TextPart extends TokenizeOptions {
  text: string;
}

/** Turns texts into tokens beside the steps: long ones on other threads, short ones for a few milliseconds at a time. */
export class Tokenizer {
  readonly #vocabulary: Pick<Vocabulary, "tokenize" | "tokenizeNow" | "longestToken">;
  readonly #queue = new TokenizeQueue();
  /** Bytes tokenized on this thread since the event loop last ran. */
  #bytesThisTurn = 0;

  constructor(vocabulary: Pick<Vocabulary, "tokenize" | "tokenizeNow" | "longestToken">) {
    this.#vocabulary = vocabulary;
  }

  /** Bytes of the longest text that is tokenized where it may have `tokens` tokens at most. */
  mostBytes(tokens: number): number {
    return Math.max(LEAST_BOUND, tokens * this.#vocabulary.longestToken);
  }

  /** The tokens of each part; null when the request is cancelled meanwhile. */
  async tokens(parts: readonly TextPart[], owner: TextOwner): Promise<Int32Array[] | null> {
    const lists: Int32Array[] = [];
    for (const part of parts) {
      const list = await this.#tokensOf(part, owner);
      if (list === null || !owner.isWanted()) return null;
      lists.push(list);
    }
    return lists;
  }

  async #tokensOf({ text, ...how }: TextPart, owner: TextOwner): Promise<Int32Array | null> {
    const bytes = Buffer.from(text);
    if (bytes.length > LONG_TEXT) return this.#queue.run(owner, () => this.#vocabulary.tokenize(bytes, how));
    this.#bytesThisTurn += bytes.length;
    if (this.#bytesThisTurn > LONG_TEXT) {
      this.#bytesThisTurn = 0;
      await nextTurn();
    }
    return this.#vocabulary.tokenizeNow(bytes, how);
  }
}
