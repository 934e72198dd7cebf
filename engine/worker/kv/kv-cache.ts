import type { KvKind } from "../../protocol/config.ts";
import type { CachedSequence } from "./cached-sequence.ts";
import type { PrefixCache } from "./prefix-cache.ts";

/** llama.cpp's memory of one context; −1 stands for the start or the end. Only called between steps. */
export interface KvMemory {
  remove(id: number, from: number, to: number): void;
  copy(source: number, target: number, from: number, to: number): void;
  /** Whether a copy that moves at the next decode reads or writes an id: until then its state can be neither saved nor loaded. */
  moving(id: number): boolean;
  /** The state of all that an id holds; null when it can't be had now. */
  save(id: number): Uint8Array | null;
  /**
   * Gives an id what a saved state holds, and nothing else. Not while it is moving. False when that can't be, now or ever;
   * what the id holds is to be removed.
   */
  load(id: number, state: Uint8Array): boolean;
}

/**
 * The KV cache as the scheduler sees it: who has which id, which prefixes are there, what room is left. Ended sequences
 * stay as idle prefixes until their place is needed, oldest use first.
 */
export interface KvCache {
  readonly kind: KvKind;
  /** Cells in all, and those that hold something or are set aside for a prompt. */
  readonly cells: number;
  readonly used: number;
  /** What sequences have computed, and who waits for it. */
  readonly prefixes: PrefixCache;
  /** Idle prefixes, and the cells that they alone hold. */
  readonly idle: { count: number; cells: number };
  /**
   * Prompt tokens that must be saved for a prefix to be worth its copy; below it they are computed again. 0 where sharing
   * moves no bytes.
   */
  readonly copyPrice: number;

  /** How many tokens a waiting sequence would find computed if it were placed now. */
  reusable(sequence: CachedSequence, online: boolean): number;

  /**
   * Gives a waiting sequence an id and the longest prefix that is there: sets its `id` and `computed`.
   *
   * @param online whether someone waits for its tokens; others leave room for those who do
   * @returns false when ids or cells are short: it must wait
   */
  place(sequence: CachedSequence, online: boolean): boolean;

  /** Whether an online sequence could be placed, at best, if these running ones gave back all they hold. */
  fitsWithout(sequence: CachedSequence, others: readonly CachedSequence[]): boolean;

  /**
   * Makes sure of `count` cells more for a placed sequence before they are computed, dropping idle prefixes if need be.
   *
   * @returns false when running sequences hold all the rest
   */
  extend(sequence: CachedSequence, count: number): boolean;

  /**
   * Takes a sequence's id away; what it computed stays as an idle prefix.
   *
   * @param passing whether that is worth no more than others once nobody waits for it: a line of a batch
   */
  release(sequence: CachedSequence, passing: boolean): void;

  /**
   * Once before each step, when all that starts is placed: brings the ids into the order that steps are fast in.
   *
   * @param decodes the sequences that decode in this step
   */
  settle(decodes: readonly CachedSequence[]): void;

  /** Positions that `count` more tokens of a placed sequence attend over, summed over the tokens. */
  attended(sequence: CachedSequence, count: number): number;
}
