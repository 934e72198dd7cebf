import type { CachedSequence, PrefixMatch, Reuse } from "./cached-sequence.ts";
import { HostCopies, type HostCopy } from "./host-copies.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** A prefix in host memory: the state of its tokens from `from` to `computed`. A sequence that takes it has those before. */
interface OffloadedPrefix extends CachedSequence, HostCopy {
  readonly from: number;
}

/** A prefix that is worth copying back. */
export interface Restorable {
  readonly offloaded: OffloadedPrefix;
  /** Tokens of it that the sequence can use. */
  readonly length: number;
}

export interface HostMemoryOptions {
  /** Most bytes of all states together; 0 turns offloading off. */
  bytes: number;
  /** Bytes of one token's keys and values. */
  tokenBytes: number;
  /** Bytes of the state of recurrent layers, for any number of tokens. */
  stateBytes: number;
  reuse: Reuse;
  /** Milliseconds to compute the tokens of a prefix from one position to another again. */
  recomputeMs: (from: number, to: number) => number;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/**
 * Offloads prefixes that are evicted from the KV cache. A prefix is copied when computing it again would take longer, by the
 * predicted time of copies and the step model's price of prefill.
 */
export class HostMemory {
  readonly copies: HostCopies;
  readonly #options: HostMemoryOptions;
  readonly #prefixes = new PrefixTree<OffloadedPrefix>();

  constructor(options: HostMemoryOptions) {
    this.#options = options;
    this.copies = new HostCopies(options.bytes, options.now);
  }

  get isOff(): boolean {
    return this.#options.bytes === 0;
  }

  /**
   * Takes an evicted prefix, if that pays.
   *
   * @param from number of its first tokens that need no copy: other sequences hold them too
   * @param save returns null when the state cannot be read
   * @param options `kept`: number of its first tokens that stay computed without a copy; `online`: for online work
   * @returns whether host memory has it now
   */
  offload(
    { tokens, computed, scope }: CachedSequence,
    from: number,
    save: () => Uint8Array | null,
    { kept = from, online = false }: { kept?: number; online?: boolean } = {},
  ): boolean {
    const { reuse } = this.#options;
    const { copies } = this;
    const size = this.#sizeOf(from, computed);
    if (computed <= from || size > copies.bytes) return false;
    const known = this.#match({ tokens, scope }, computed);
    if (known.length === computed && known.resident!.from <= from) {
      copies.touch(known.resident!);
      return true;
    }
    if (!copies.fits("save", size, online) || !this.isFaster(size, kept, computed)) return false;
    const state = copies.save(save);
    if (state === null) return false;
    // A longer prefix replaces the one that it extends, unless that one can be used by itself alone.
    if (reuse === "parts" && known.resident?.computed === known.length && known.resident.from >= from)
      copies.drop(known.resident);
    const offloaded = { id: -1, tokens: tokens.slice(0, computed), computed, scope, from, state };
    this.#prefixes.add(offloaded);
    copies.add(offloaded, () => this.#prefixes.remove(offloaded));
    return true;
  }

  /** Whether there is room for a copy of the first tokens of a sequence, and copying it twice is faster than computing them. */
  pays(tokens: number): boolean {
    const size = this.#sizeOf(0, tokens);
    return size <= this.copies.bytes && this.isFaster(size, 0, tokens);
  }

  /** Whether saving and loading so many bytes is faster than computing the tokens in [from, to) again. */
  isFaster(size: number, from: number, to: number): boolean {
    return this.copies.ms("save", size) + this.copies.ms("load", size) < this.#options.recomputeMs(from, to);
  }

  /**
   * The prefix that gives a sequence more than the `found` tokens in the cache, if copying it back pays.
   *
   * @param limit most tokens of the sequence that may be reused
   */
  find(sequence: CachedSequence, limit: number, found: number, online: boolean): Restorable | null {
    if (this.copies.used === 0) return null;
    const { resident: offloaded, length } = this.#match(sequence, limit);
    if (offloaded === null || length <= found || offloaded.from > found) return null;
    const { length: size } = offloaded.state;
    const isFaster = this.copies.ms("load", size) < this.#options.recomputeMs(found, length);
    return isFaster && this.copies.fits("load", size, online) ? { offloaded, length } : null;
  }

  /** @param load returns false when the state could not be restored: it is then dropped */
  restore({ offloaded }: Restorable, load: (state: Uint8Array) => boolean): boolean {
    return this.copies.load(offloaded, load);
  }

  /** Bytes of a copy, as predicted. */
  #sizeOf(from: number, to: number): number {
    const { tokenBytes, stateBytes } = this.#options;
    return (to - from) * tokenBytes + stateBytes;
  }

  #match(sequence: Pick<CachedSequence, "tokens" | "scope">, limit: number): PrefixMatch<OffloadedPrefix> {
    if (this.#options.reuse === "whole") return this.#prefixes.matchWhole(sequence, limit);
    return this.#prefixes.match(sequence, limit);
  }
}
