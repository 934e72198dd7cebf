import type { KvKind } from "../../protocol/config.ts";
import type { CachedSequence } from "./cached-sequence.ts";
import type { PrefixCache } from "./prefix-cache.ts";

/**
 * Positions over which `count` more tokens of a placed sequence attend, summed over the tokens.
 *
 * @param before tokens of other sequences that precede them in the same step
 */
export type Attended = (sequence: CachedSequence, count: number, before: number) => number;

/**
 * The KV cache as the scheduler sees it: the ids of sequences, the prefixes, and the free cells. Ended sequences stay as idle
 * prefixes until their cells are needed, least recently used first.
 */
export interface KvCache {
  readonly kind: KvKind;
  /** All cells, and those that hold tokens or are reserved for a prompt. */
  readonly cells: number;
  readonly used: number;
  /** Prefixes that sequences have computed, and the sequences that wait for them. */
  readonly prefixes: PrefixCache;
  /** Idle prefixes, and the cells that they alone hold. */
  readonly idle: { count: number; cells: number };
  /**
   * Prompt tokens that a copied prefix must save at least; fewer tokens are computed again. 0 where sharing moves no bytes.
   */
  readonly copyPrice: number;

  /** Tokens that a waiting sequence would find computed if it were placed now. */
  reusable(sequence: CachedSequence, online: boolean): number;

  /**
   * Gives a waiting sequence an id and the longest prefix in the cache: sets its `id` and `computed`.
   *
   * @param online whether its tier is online; lower tiers leave room for online sequences
   * @returns false when ids or cells are short: the sequence must wait
   */
  place(sequence: CachedSequence, online: boolean): boolean;

  /** Whether a sequence could be placed, at best, if these running ones released all their cells. */
  fitsWithout(sequence: CachedSequence, others: readonly CachedSequence[]): boolean;

  /**
   * Reserves `count` more cells for a placed sequence, evicting idle prefixes if need be.
   *
   * @returns false when running sequences hold all other cells
   */
  extend(sequence: CachedSequence, count: number): boolean;

  /**
   * Frees a sequence's id; its computed tokens stay as an idle prefix.
   *
   * @param passing true for a batch line: its prefix is evicted first once no waiting sequence begins with it
   */
  release(sequence: CachedSequence, passing: boolean): void;

  /**
   * Keeps the computed tokens of a placed sequence for others that start with them: as an idle prefix that shares its cells, or
   * as a copy in host memory if that pays.
   *
   * @returns whether they are kept
   */
  checkpoint(sequence: CachedSequence, online: boolean): boolean;

  /**
   * Called once before each step, after all placements: brings the ids into the order in which a step takes the fewest passes.
   *
   * @param decodes the sequences that decode in this step
   */
  settle(decodes: readonly CachedSequence[]): void;

  /** Attention by the tokens that are in the cache now. */
  attention(): Attended;
}
