import { type CachedSequence, type PrefixMatch, type Reuse, reusableLength } from "./cached-sequence.ts";
import type { HostMemory, Restorable } from "./host-memory.ts";
import type { KvMemory } from "./kv-memory.ts";
import { PartialCheckpoints } from "./partial-checkpoints.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** Events of a cache in one step. */
export interface CacheEvents {
  /** Idle prefixes that were evicted. */
  evicted: number;
  /** Of these, those that were offloaded to host memory. */
  offloaded: number;
  /** Tokens that were restored from host memory. */
  restored: number;
}

/**
 * The computed tokens of a KV cache: those of running sequences, and idle prefixes of ended ones. An idle prefix stays until
 * its cells are needed, and may then be offloaded to host memory. Independent of ids and cells.
 *
 * | evicted | idle prefix |
 * |---|---|
 * | first | of batch lines, and no waiting sequence begins with it: its group has ended |
 * | second | no waiting sequence begins with it |
 * | last | a waiting sequence would have to compute it again |
 *
 * Within each row the least recently used is evicted first.
 */
export class PrefixCache {
  /** Takes evicted prefixes. */
  readonly host: HostMemory;
  readonly #whole: boolean;
  /** Positions at which ids may be cut. */
  readonly inPlace: PartialCheckpoints;
  readonly #memory: KvMemory;
  readonly #running = new Set<CachedSequence>();
  /** Least recently used first. */
  readonly #idle = new Set<CachedSequence>();
  /** Of these, those of batch lines. */
  readonly #passing = new Set<CachedSequence>();
  readonly #tree = new PrefixTree();
  /** All tokens of waiting sequences. */
  readonly #awaited = new PrefixTree();
  readonly #waiting = new Map<CachedSequence, CachedSequence>();
  #events: CacheEvents = { evicted: 0, offloaded: 0, restored: 0 };

  constructor(host: HostMemory, reuse: Reuse, memory: KvMemory) {
    this.host = host;
    this.#memory = memory;
    this.inPlace = new PartialCheckpoints(host, memory);
    this.#whole = reuse === "whole";
  }

  get running(): ReadonlySet<CachedSequence> {
    return this.#running;
  }

  get idle(): ReadonlySet<CachedSequence> {
    return this.#idle;
  }

  /** A sequence begins to wait: its prefixes are evicted last. */
  announce(sequence: CachedSequence): void {
    const { tokens, scope } = sequence;
    const whole: CachedSequence = { id: -1, tokens, computed: tokens.length, scope };
    this.#waiting.set(sequence, whole);
    this.#awaited.add(whole);
  }

  /** A sequence no longer waits. */
  withdraw(sequence: CachedSequence): void {
    const whole = this.#waiting.get(sequence);
    if (whole === undefined) return;
    this.#waiting.delete(sequence);
    this.#awaited.remove(whole);
  }

  start(sequence: CachedSequence): void {
    this.#running.add(sequence);
    // A running sequence computes on, past every position that another one could start at.
    if (!this.#whole) this.#tree.add(sequence);
  }

  /**
   * A sequence no longer runs.
   *
   * @returns its idle prefix, at the id it had; null when other sequences hold all of it
   */
  end(sequence: CachedSequence, passing: boolean): CachedSequence | null {
    const { id, tokens, computed, scope } = sequence;
    const worth = this.#whole ? !this.holds(sequence) : this.shared(sequence) < computed;
    this.#running.delete(sequence);
    if (!this.#whole) this.#tree.remove(sequence);
    return worth ? this.leave({ tokens, computed, scope }, id, passing) : null;
  }

  /** Adds an idle prefix at an id that has the computed tokens of a sequence. */
  leave({ tokens, computed, scope }: Omit<CachedSequence, "id">, id: number, passing: boolean): CachedSequence {
    const idle: CachedSequence = { id, tokens: tokens.slice(0, computed), computed, scope };
    this.#idle.add(idle);
    if (passing) this.#passing.add(idle);
    this.#tree.add(idle);
    return idle;
  }

  /** True where an idle prefix has exactly the computed tokens of a sequence, or the sequence has none; asked where states are reused as a whole. */
  holds({ tokens, computed, scope }: CachedSequence): boolean {
    return this.#tree.matchWhole({ tokens, scope }, computed).length === computed;
  }

  /**
   * The longest prefix of a sequence in the cache.
   *
   * @param evicts whether a sequence without a prefix takes the place of an idle one
   */
  match(sequence: CachedSequence, evicts = false): PrefixMatch {
    const limit = reusableLength(sequence.tokens);
    if (this.#whole) return this.#matchWhole(sequence, limit, evicts);
    this.#follow();
    return this.#tree.match(sequence, limit);
  }

  /**
   * An idle prefix that the sequence begins with, or one that can be cut to such a one and loses no more than is found, or
   * would be evicted.
   */
  #matchWhole(sequence: CachedSequence, limit: number, evicts: boolean): PrefixMatch {
    const whole = this.#tree.matchWhole(sequence, limit);
    const { resident, length: common } = this.#tree.match(sequence, limit);
    if (resident === null) return whole;
    const length = this.#memory.canCut(resident.id, common) ? common : this.inPlace.last(resident.id, common);
    if (length <= whole.length) return whole;
    const isGain = resident.computed - length <= length - whole.length;
    return isGain || (evicts && whole.resident === null && this.first() === resident) ? { resident, length } : whole;
  }

  /** Removes all but the first `length` tokens of an idle prefix that is taken. @returns the tokens that are left: 0 when that failed */
  cut({ id, computed }: Pick<CachedSequence, "id" | "computed">, length: number): number {
    const isCut =
      length === computed || !this.#whole || this.#memory.canCut(id, length) || this.inPlace.restore(id, length);
    const left = isCut ? length : 0;
    this.clear(id, left);
    return left;
  }

  /** Removes the content of an id past its first `left` tokens, which may be cut there. */
  clear(id: number, left = 0): void {
    this.#memory.remove(id, left === 0 ? -1 : left, -1);
    this.inPlace.forget(id, left);
  }

  /** The most tokens that a sequence has in common with one that waits. */
  awaited({ tokens, scope }: CachedSequence): number {
    return this.#awaited.match({ tokens, scope }, tokens.length).length;
  }

  /** A prefix in host memory that is longer than the `found` tokens, if restoring it pays. */
  offloaded(sequence: CachedSequence, found: number, online: boolean): Restorable | null {
    return this.host.find(sequence, reusableLength(sequence.tokens), found, online);
  }

  /** Restores a prefix from host memory. @returns whether that succeeded */
  restore(back: Restorable, load: (state: Uint8Array) => boolean): boolean {
    const loaded = this.host.restore(back, load);
    if (loaded) this.#events.restored += back.length - back.offloaded.from;
    return loaded;
  }

  /** The number of a resident's tokens that need no copy of their own, since another one holds them too. */
  shared(resident: CachedSequence): number {
    if (this.#whole) return 0;
    this.#follow();
    return this.#tree.shared(resident);
  }

  /** Marks the first `length` tokens of a resident as used. Tokens that others hold too (those of a template) do not count. */
  touch(resident: CachedSequence, length: number): void {
    if (length > this.shared(resident) && this.#idle.delete(resident)) this.#idle.add(resident);
  }

  /** The idle prefix to evict first, of those that may be evicted. */
  first(may: (idle: CachedSequence) => boolean = () => true): CachedSequence | null {
    let unwanted: CachedSequence | null = null;
    let oldest: CachedSequence | null = null;
    if (!this.#whole) this.#follow();
    for (const idle of this.#idle) {
      if (!may(idle)) continue;
      oldest ??= idle;
      const passing = this.#passing.has(idle);
      if ((unwanted !== null && !passing) || this.#isAwaited(idle)) continue;
      if (passing) return idle;
      unwanted = idle;
    }
    return unwanted ?? oldest;
  }

  /** Whether an idle prefix is worth a copy when its id is taken: not one of a batch line, unless a sequence waits for it. */
  isWanted(idle: CachedSequence): boolean {
    return !this.#passing.has(idle) || this.#isAwaited(idle);
  }

  /** Whether a waiting sequence other than this one begins with all computed tokens of a resident. */
  isAwaitedByOthers(resident: CachedSequence, sequence: CachedSequence): boolean {
    const own = this.#waiting.get(sequence);
    if (own !== undefined) this.#awaited.remove(own);
    const isAwaited = this.#awaited.match(resident, resident.computed).length === resident.computed;
    if (own !== undefined) this.#awaited.add(own);
    return isAwaited;
  }

  /** Whether a waiting sequence begins with more of it than other residents hold. */
  #isAwaited(idle: CachedSequence): boolean {
    if (this.#waiting.size === 0) return false;
    const { length } = this.#awaited.match(idle, idle.computed);
    return this.#whole ? length === idle.computed : length > this.#tree.shared(idle);
  }

  /** Evicts an idle prefix, which may be offloaded. `from`, `save` and `kept` are those of HostMemory.offload(). */
  evict(idle: CachedSequence, from: number, save: () => Uint8Array | null, kept = from): void {
    if (this.isWanted(idle) && this.offload(idle, from, save, kept)) return;
    this.#events.evicted++;
    this.forget(idle);
  }

  /** Moves an idle prefix to host memory. @returns whether it is there now */
  offload(idle: CachedSequence, from: number, save: () => Uint8Array | null, kept: number): boolean {
    // The copy must not replace the one that the id is about to be cut with.
    if (this.#whole) this.inPlace.touch(idle.id, kept);
    if (!this.host.offload(idle, from, save, { kept })) return false;
    this.#events.evicted++;
    this.#events.offloaded++;
    this.forget(idle);
    return true;
  }

  /**
   * Copies the state of a running sequence to host memory, for others that begin with its computed tokens.
   *
   * @returns whether it is there now
   */
  checkpoint(sequence: CachedSequence, online: boolean, save: () => Uint8Array | null): boolean {
    const copied = this.host.offload(sequence, 0, save, { online });
    if (copied) this.#events.offloaded++;
    return copied;
  }

  /** Forgets an idle prefix. */
  forget(idle: CachedSequence): void {
    this.#idle.delete(idle);
    this.#passing.delete(idle);
    this.#tree.remove(idle);
  }

  /** The events since the last call; called once after each step. */
  takeEvents(): CacheEvents {
    const events = this.#events;
    this.#events = { evicted: 0, offloaded: 0, restored: 0 };
    return events;
  }

  #follow(): void {
    for (const sequence of this.#running) this.#tree.follow(sequence);
  }
}
