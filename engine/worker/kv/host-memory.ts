import type { CopyBudget } from "../cost/step-caps.ts";
import type { CachedSequence } from "./cached-sequence.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** A prefix in host memory: the state of its tokens from `from` to `computed`; who takes it has those before. */
interface OffloadedPrefix extends CachedSequence {
  readonly from: number;
  readonly state: Uint8Array;
}

/** A prefix that is worth being copied back. */
export interface Restorable {
  readonly offloaded: OffloadedPrefix;
  /** How many tokens of it the taker goes on with. */
  readonly length: number;
}

export interface HostMemoryOptions {
  /** Most bytes of all states together; 0 parks nothing. */
  bytes: number;
  /** Of one token's keys and values. */
  tokenBytes: number;
  /** What it would take to compute the tokens of a prefix from one position to another again. */
  recomputeMs: (from: number, to: number) => number;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/** Bytes per millisecond until a copy was measured: slower than nearly every machine copies large states. */
const FIRST_RATE = 1e6;
/** The weight of a new measurement: interleaved decodes scatter cells, so that two copies of one size differ. */
const NEWS = 0.25;
/** A copy that was slow by chance counts at most so many times what was expected. */
const OUTLIER = 4;
/** Rates too low to allow a copy would never be corrected: with each step they go back by this share to the first. */
const FORGIVE = 0.001;

/**
 * Prefixes that were pushed out of the KV cache, least recently used first, within a bound. What is copied there and back
 * is what would take longer to compute again, by the measured rate of copies and the step model's price of prefill; and
 * nothing that would delay a step by more than it may be delayed: a copy runs between two steps, and everyone waits.
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

  /** Bytes. */
  get used(): number {
    return this.#used;
  }

  /** What the copies since allow() took. */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Once before each step. */
  allow(budget: CopyBudget): void {
    this.#budget = budget;
    this.#spentMs = 0;
    for (const kind of ["save", "load"] as const)
      if (this.#rates[kind] < FIRST_RATE) this.#rates[kind] += FORGIVE * (FIRST_RATE - this.#rates[kind]);
  }

  /**
   * Takes a prefix in that leaves the cache, if that pays.
   *
   * @param from how many of its tokens need no copy, for others hold them too
   * @param save null when its state can't be had
   * @returns whether host memory has it now
   */
  offload({ tokens, computed, scope }: CachedSequence, from: number, save: () => Uint8Array | null): boolean {
    const { bytes, tokenBytes, recomputeMs } = this.#options;
    const size = (computed - from) * tokenBytes;
    if (size <= 0 || size > bytes) return false;
    const known = this.#prefixes.match({ tokens, scope }, computed);
    if (known.length === computed && known.resident!.from <= from) {
      this.#touch(known.resident!);
      return true;
    }
    const ms = size / this.#rates.save;
    if (ms > this.#budget.lower - this.#spentMs) return false;
    if (ms + size / this.#rates.load >= recomputeMs(from, computed)) return false;
    const state = this.#measured("save", save, (saved) => saved?.length ?? 0);
    if (state === null || state.length > bytes) return false;
    // What goes on from one that is here stands for it too.
    if (known.resident?.computed === known.length && known.resident.from >= from) this.#drop(known.resident);
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

  /**
   * The prefix that gives a sequence more than the `found` tokens that the cache has for it, if copying it back pays.
   *
   * @param limit tokens of the sequence that may be reused
   */
  find(sequence: CachedSequence, limit: number, found: number, online: boolean): Restorable | null {
    if (this.#offloaded.size === 0) return null;
    const { resident: offloaded, length } = this.#prefixes.match(sequence, limit);
    if (offloaded === null || length <= found || offloaded.from > found) return null;
    const ms = offloaded.state.length / this.#rates.load;
    const allowed = this.#budget[online ? "online" : "lower"] - this.#spentMs;
    return ms <= allowed && ms < this.#options.recomputeMs(found, length) ? { offloaded, length } : null;
  }

  /** @param load false when the state could not be put back: it is not tried again */
  restore({ offloaded }: Restorable, load: (state: Uint8Array) => boolean): boolean {
    const loaded = this.#measured(
      "load",
      () => load(offloaded.state),
      (done) => (done ? offloaded.state.length : 0),
    );
    // Copies that were made before it may have pushed it out.
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
      // Times add up, not rates: averaged is what a byte takes.
      const expected = 1 / this.#rates[kind];
      this.#rates[kind] = 1 / ((1 - NEWS) * expected + NEWS * Math.min(ms / bytes, OUTLIER * expected));
    }
    return result;
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
