import { crc32 } from "node:zlib";

/** Characters of a block: some 64 tokens. */
export const BLOCK_CHARS = 256;
/** Blocks of a prompt that are looked at: some 8,000 tokens, beyond which prompts rarely begin to differ. */
export const MAX_BLOCKS = 128;

/**
 * Hashes of the beginnings of a prompt, one longer by a block than the other: two prompts have as many hashes in common, from
 * the first on, as they share whole blocks. Characters behind the last whole block do not count, so a short prompt has none.
 * A collision sends a request to a replica without its prefix and does no other harm, so zlib's checksum suffices.
 * @param scope what the replica separates prefixes by (its cache salt); prompts of two scopes have none in common
 */
export function prefixBlocks(scope: string, prompt: string): number[] {
  const blocks: number[] = [];
  let hash = crc32(scope);
  for (let end = BLOCK_CHARS; end <= prompt.length && blocks.length < MAX_BLOCKS; end += BLOCK_CHARS) {
    hash = crc32(prompt.slice(end - BLOCK_CHARS, end), hash);
    // As a signed number it needs no memory of its own in a Set.
    blocks.push(hash | 0);
  }
  return blocks;
}

/** Blocks that are remembered of a replica. */
const MOST_REMEMBERED = 32_768;

/** The blocks that a replica was sent lately, and may have in its prefix cache. */
export class RememberedBlocks {
  /** The one that was used last is the last. */
  readonly #blocks = new Set<number>();

  get size(): number {
    return this.#blocks.size;
  }

  /** The number of blocks from the first on that are remembered. */
  matched(blocks: readonly number[]): number {
    const missing = blocks.findIndex((block) => !this.#blocks.has(block));
    return missing === -1 ? blocks.length : missing;
  }

  /** The ends of prompts are forgotten before their beginnings, which have to be there for the ends to match. */
  add(blocks: readonly number[]): void {
    for (const block of blocks.toReversed()) {
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= MOST_REMEMBERED) return;
      this.#blocks.delete(oldest);
    }
  }
}
