/** Characters of a prompt after which its key branches: each twice the one before, up to some 2,000 tokens. */
const BRANCHES = [64, 128, 256, 512, 1024, 2048, 4096, 8192];
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const DIGITS = 7;

/**
 * A sort key that brings prompts with equal beginnings together: for each length above, a hash of the prompt up to there.
 * Sorting by it walks the shared beginnings depth-first. It takes a tenth of the bytes that the text itself would, and
 * tells prompts apart that share a long system message. A collision only makes the order a little worse.
 */
export class PrefixKey {
  #key = "";
  #chars = 0;
  #hash = FNV_OFFSET;
  #branch = 0;

  /** Characters that still make a difference. */
  get wanted(): number {
    return BRANCHES[BRANCHES.length - 1]! - this.#chars;
  }

  add(text: string): void {
    const end = Math.min(text.length, this.wanted);
    let hash = this.#hash;
    for (let i = 0; i < end; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
      if (++this.#chars === BRANCHES[this.#branch]) {
        this.#key += digits(hash);
        this.#branch++;
      }
    }
    this.#hash = hash;
  }

  get key(): string {
    return this.#branch === BRANCHES.length ? this.#key : this.#key + digits(this.#hash);
  }
}

function digits(hash: number): string {
  return (hash >>> 0).toString(36).padStart(DIGITS, "0");
}
