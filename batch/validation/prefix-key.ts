import { crc32 } from "node:zlib";

/** Characters of a prompt after which its key branches: each twice the previous one, up to some 2,000 tokens. */
const BRANCHES = [64, 128, 256, 512, 1024, 2048, 4096, 8192];

/** Numbers in the longest key. */
export const KEY_LENGTH = BRANCHES.length;

/**
 * A sort key that brings prompts with common prefixes together: for each length above, a hash (32 bits) of the prompt up to
 * that length, and for a shorter prompt one hash of all of it. Sorting by it walks the tree of prefixes depth-first. A key
 * has a hundredth of the bytes of the text, and still separates prompts that share a long system message. A collision makes
 * the order only slightly worse, so zlib's checksum suffices as the hash: it reads a string several times as fast as
 * JavaScript can. (A surrogate pair that a branch cuts in two counts as two unknown characters.)
 */
export class PrefixKey {
  readonly #key: number[] = [];
  #chars = 0;
  #hash = 0;

  /** Further characters that the key depends on. */
  get missing(): number {
    return BRANCHES[BRANCHES.length - 1]! - this.#chars;
  }

  add(text: string): void {
    for (let from = 0; from < text.length && this.#key.length < BRANCHES.length; ) {
      const branch = BRANCHES[this.#key.length]!;
      const end = Math.min(text.length, from + branch - this.#chars);
      this.#hash = crc32(text.slice(from, end), this.#hash);
      this.#chars += end - from;
      if (this.#chars === branch) this.#key.push(this.#hash);
      from = end;
    }
  }

  /** At most KEY_LENGTH numbers. */
  get key(): number[] {
    return this.#key.length === BRANCHES.length ? this.#key : [...this.#key, this.#hash];
  }
}
