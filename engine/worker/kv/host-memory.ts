import type { CopyBudget } from "../cost/step-caps.ts";
import type { CachedSequence, PrefixMatch, Reuse } from "./cached-sequence.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** A prefix in host memory: the state of its tokens from `from` to `computed`. A sequence that takes it has those before. */
interface OffloadedPrefix extends CachedSequence {
  readonly from: number;
  readonly state: Uint8Array;
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

/** Bytes per millisecond before the first measured copy: nearly every machine copies large states faster. */
const FIRST_RATE = 1e6;
/** The weight of a new measurement: interleaved decodes scatter cells, so that two copies of one size differ. */
const NEW_WEIGHT = 0.25;
/** A slow copy counts at most this multiple of the expected time. */
const OUTLIER = 4;
/** The share of the gap to FIRST_RATE that a low rate recovers with each step: one too low for any copy would never be corrected. */
const RECOVERY = 0.001;

/**
 * Offloads prefixes that are evicted from the KV cache, least recently used first, within a bound of bytes. A prefix is copied
 * when computing it again would take longer, by the measured rate of copies and the step model's price of prefill, and when
 * the copy fits into the budget of the step: a copy runs between two steps and delays every sequence.
 */
export class HostMemory {
  readonly #options: HostMemoryOptions;
  readonly #offloaded = new Set<OffloadedPrefix>();
  readonly #prefixes = new PrefixTree<OffloadedPrefix>();
  readonly #rates = { save: FIRST_RATE, load: FIRST_RATE };
  #budget: CopyBudget = { online: 0, lower: 0 };
  #used = 0;
  #spentMs = 0;

  constructor(options: HostMemoryOptions) {
    this.#options = options;
  }

  get isOff(): boolean {
    return this.#options.bytes === 0;
  }

  /** Bytes of all states. */
  get used(): number {
    return this.#used;
  }

  /** Milliseconds of copies since allow(). */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Sets the budget of a step; called once before each. */
  allow(budget: CopyBudget): void {
    this.#budget = budget;
    this.#spentMs = 0;
    for (const kind of ["save", "load"] as const)
      if (this.#rates[kind] < FIRST_RATE) this.#rates[kind] += RECOVERY * (FIRST_RATE - this.#rates[kind]);
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
    const { bytes, reuse } = this.#options;
    const size = this.#sizeOf(from, computed);
    if (computed <= from || size > bytes) return false;
    const known = this.#match({ tokens, scope }, computed);
    if (known.length === computed && known.resident!.from <= from) {
      this.#touch(known.resident!);
      return true;
    }
    const ms = size / this.#rates.save;
    if (ms > this.#budget[online ? "online" : "lower"] - this.#spentMs) return false;
    if (!this.#isFaster(size, kept, computed)) return false;
    const state = this.#measured("save", save, (saved) => saved?.length ?? 0);
    if (state === null || state.length > bytes) return false;
    // A longer prefix replaces the one that it extends, unless that one can be used by itself alone.
    if (reuse === "parts" && known.resident?.computed === known.length && known.resident.from >= from)
      this.#drop(known.resident);
    const offloaded = { id: -1, tokens: tokens.slice(0, computed), computed, scope, from, state };
    this.#offloaded.add(offloaded);
    this.#prefixes.add(offloaded);
    this.#used += state.length;
    for (const oldest of this.#offloaded) {
      if (this.#used <= bytes) break;
      this.#drop(oldest);
    }
    return true;
  }

  /** Whether there is room for a copy of the first tokens of a sequence, and copying it twice is faster than computing them. */
  pays(tokens: number): boolean {
    const size = this.#sizeOf(0, tokens);
    return size <= this.#options.bytes && this.#isFaster(size, 0, tokens);
  }

  /** Bytes of a copy, as predicted. */
  #sizeOf(from: number, to: number): number {
    const { tokenBytes, stateBytes } = this.#options;
    return (to - from) * tokenBytes + stateBytes;
  }

  /** Whether saving and loading so many bytes is faster than computing the tokens in [from, to) again. */
  #isFaster(size: number, from: number, to: number): boolean {
    const { save, load } = this.#rates;
    return size / save + size / load < this.#options.recomputeMs(from, to);
  }

  /**
   * The prefix that gives a sequence more than the `found` tokens in the cache, if copying it back pays.
   *
   * @param limit most tokens of the sequence that may be reused
   */
  find(sequence: CachedSequence, limit: number, found: number, online: boolean): Restorable | null {
    if (this.#offloaded.size === 0) return null;
    const { resident: offloaded, length } = this.#match(sequence, limit);
    if (offloaded === null || length <= found || offloaded.from > found) return null;
    const ms = offloaded.state.length / this.#rates.load;
    const allowed = this.#budget[online ? "online" : "lower"] - this.#spentMs;
    return ms <= allowed && ms < this.#options.recomputeMs(found, length) ? { offloaded, length } : null;
  }

  /** @param load returns false when the state could not be restored: it is then dropped */
  restore({ offloaded }: Restorable, load: (state: Uint8Array) => boolean): boolean {
    const loaded = this.#measured(
      "load",
      () => load(offloaded.state),
      (done) => (done ? offloaded.state.length : 0),
    );
    // Copies that were made before it may have evicted it.
    if (!this.#offloaded.has(offloaded)) return loaded;
    if (loaded) this.#touch(offloaded);
    else this.#drop(offloaded);
    return loaded;
  }

  #measured<T>(kind: "save" | "load", copy: () => T, bytesOf: (result: T) => number): T {
    const begin = this.#options.now();
    const result = copy();
    const ms = this.#options.now() - begin;
    this.#spentMs += ms;
    const bytes = bytesOf(result);
    if (bytes > 0 && ms > 0) {
      // Times add up, rates do not: the time of a byte is averaged.
      const expected = 1 / this.#rates[kind];
      this.#rates[kind] = 1 / ((1 - NEW_WEIGHT) * expected + NEW_WEIGHT * Math.min(ms / bytes, OUTLIER * expected));
    }
    return result;
  }

  #match(sequence: Pick<CachedSequence, "tokens" | "scope">, limit: number): PrefixMatch<OffloadedPrefix> {
    if (this.#options.reuse === "whole") return this.#prefixes.matchWhole(sequence, limit);
    return this.#prefixes.match(sequence, limit);
  }

  #touch(offloaded: OffloadedPrefix): void {
    this.#offloaded.delete(offloaded);
    this.#offloaded.add(offloaded);
  }

  #drop(offloaded: OffloadedPrefix): void {
    this.#offloaded.delete(offloaded);
    this.#prefixes.remove(offloaded);
    this.#used -= offloaded.state.length;
  }
}
