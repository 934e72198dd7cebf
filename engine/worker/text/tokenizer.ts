import { setImmediate as rest } from "node:timers/promises";
import type { TokenizeOptions, Vocabulary } from "../native/vocabulary.ts";
import { type TextOwner, TokenizeQueue } from "./tokenize-queue.ts";

/** Above this many bytes a text is tokenized on another thread: below, the way there would cost more than the work. */
const LONG_TEXT = 16 * 1024;
/** Any text of this many bytes is tokenized: some vocabularies make few tokens of much, such as of white space. */
const LEAST_BOUND = 64 * 1024;

export interface TextPart extends TokenizeOptions {
  text: string;
}

/** Turns texts into tokens beside the steps: long ones on other threads, of short ones a few milliseconds' worth at once. */
export class Tokenizer {
  readonly #vocabulary: Pick<Vocabulary, "tokenize" | "tokenizeNow" | "longestToken">;
  readonly #queue = new TokenizeQueue();
  /** Bytes that were tokenized on this thread since a step last had its turn. */
  #unrested = 0;

  constructor(vocabulary: Pick<Vocabulary, "tokenize" | "tokenizeNow" | "longestToken">) {
    this.#vocabulary = vocabulary;
  }

  /** Bytes of the longest text that is tokenized where `tokens` is the most that may come of it. */
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
    this.#unrested += bytes.length;
    if (this.#unrested > LONG_TEXT) {
      this.#unrested = 0;
      await rest();
    }
    return this.#vocabulary.tokenizeNow(bytes, how);
  }
}
