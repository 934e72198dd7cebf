import { type CachedSequence, NO_PREFIX, type PrefixMatch, reusableLength } from "./cached-sequence.ts";
import type { HostMemory, Restorable } from "./host-memory.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** What a cache did since it was last asked. */
export interface CacheEvents {
  /** Idle prefixes that were pushed out. */
  evicted: number;
  /** Of these, those that host memory has. */
  offloaded: number;
  /** Tokens that came back from host memory. */
  restored: number;
}

/**
 * What the sequences of a KV cache have computed, those that run and those that ended: idle prefixes, which stay until
 * their place is needed, and may go to host memory then. Knows nothing of ids and cells.
 *
 * | gives way | |
 * |---|---|
 * | first | what lines of a batch have left that no waiting sequence begins with: their group has ended |
 * | then | what no waiting sequence begins with |
 * | last | what one that waits would have to compute again |
 *
 * and in each case the least recently used first.
 */
export class PrefixCache {
  /** Where prefixes that are pushed out may go. */
  readonly host: HostMemory;
  readonly #reuse: boolean;
  readonly #running = new Set<CachedSequence>();
  /** Least recently used first. */
  readonly #idle = new Set<CachedSequence>();
  /** Of these, those that lines of a batch have left. */
  readonly #passing = new Set<CachedSequence>();
  readonly #tree = new PrefixTree();
  /** All tokens of those that wait. */
  readonly #awaited = new PrefixTree();
  readonly #waiting = new Map<CachedSequence, CachedSequence>();
  #events: CacheEvents = { evicted: 0, offloaded: 0, restored: 0 };

  /** @param reuse false on models whose memory can't be cut: nothing is kept, and nothing found */
  constructor(host: HostMemory, reuse: boolean) {
    this.host = host;
    this.#reuse = reuse;
  }

  get running(): ReadonlySet<CachedSequence> {
    return this.#running;
  }

  get idle(): ReadonlySet<CachedSequence> {
    return this.#idle;
  }

  /** A sequence waits from now on: what it begins with gives way after all that nobody waits for. */
  announce(sequence: CachedSequence): void {
    if (!this.#reuse) return;
    const { tokens, scope } = sequence;
    const whole: CachedSequence = { id: -1, tokens, computed: tokens.length, scope };
    this.#waiting.set(sequence, whole);
    this.#awaited.add(whole);
  }

  /** It waits no more. */
  withdraw(sequence: CachedSequence): void {
    const whole = this.#waiting.get(sequence);
    if (whole === undefined) return;
    this.#waiting.delete(sequence);
    this.#awaited.remove(whole);
  }

  start(sequence: CachedSequence): void {
    this.#running.add(sequence);
    this.#tree.add(sequence);
  }

  /**
   * A sequence runs no more.
   *
   * @returns what is to stay of it, at the id it had; null when others hold all of it
   */
  end(sequence: CachedSequence, passing: boolean): CachedSequence | null {
    const { id, tokens, computed, scope } = sequence;
    const worth = this.#reuse && this.shared(sequence) < computed;
    this.#running.delete(sequence);
    this.#tree.remove(sequence);
    if (!worth) return null;
    const idle: CachedSequence = { id, tokens: tokens.slice(0, computed), computed, scope };
    this.#idle.add(idle);
    if (passing) this.#passing.add(idle);
    this.#tree.add(idle);
    return idle;
  }

  /** The longest prefix of a sequence that someone in the cache has. */
  match(sequence: CachedSequence): PrefixMatch {
    if (!this.#reuse) return NO_PREFIX;
    this.#follow();
    return this.#tree.match(sequence, reusableLength(sequence.tokens));
  }

  /** A longer one in host memory than the `found` tokens, if that pays. */
  offloaded(sequence: CachedSequence, found: number, online: boolean): Restorable | null {
    return this.#reuse ? this.host.find(sequence, reusableLength(sequence.tokens), found, online) : null;
  }

  /** Brings it back. @returns whether that succeeded */
  restore(back: Restorable, load: (state: Uint8Array) => boolean): boolean {
    const loaded = this.host.restore(back, load);
    if (loaded) this.#events.restored += back.length - back.offloaded.from;
    return loaded;
  }

  /** How many of a resident's tokens another one holds too. */
  shared(resident: CachedSequence): number {
    this.#follow();
    return this.#tree.shared(resident);
  }

  /** The first `length` tokens of a resident were used. What others hold too (a template's first tokens) is no use of it. */
  touch(resident: CachedSequence, length: number): void {
    if (length > this.shared(resident) && this.#idle.delete(resident)) this.#idle.add(resident);
  }

  /** The idle prefix that is to give way first, of those that may. */
  first(may: (idle: CachedSequence) => boolean = () => true): CachedSequence | null {
    let unwanted: CachedSequence | null = null;
    let oldest: CachedSequence | null = null;
    this.#follow();
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

  /** Whether an idle prefix is worth a copy when its place is taken: not a batch line's, unless another waits for it. */
  isWanted(idle: CachedSequence): boolean {
    return !this.#passing.has(idle) || this.#isAwaited(idle);
  }

  /** Whether some sequence that waits begins with more of it than others hold too. */
  #isAwaited(idle: CachedSequence): boolean {
    return this.#waiting.size > 0 && this.#awaited.match(idle, idle.computed).length > this.#tree.shared(idle);
  }

  /** An idle prefix is pushed out: host memory may take it. `from` and `save` are those of HostMemory.offload(). */
  evict(idle: CachedSequence, from: number, save: () => Uint8Array | null): void {
    if (this.isWanted(idle) && this.offload(idle, from, save)) return;
    this.#events.evicted++;
    this.forget(idle);
  }

  /** @returns whether an idle prefix is in host memory now, and no longer here */
  offload(idle: CachedSequence, from: number, save: () => Uint8Array | null): boolean {
    if (!this.host.offload(idle, from, save)) return false;
    this.#events.evicted++;
    this.#events.offloaded++;
    this.forget(idle);
    return true;
  }

  /** An idle prefix is not there any more. */
  forget(idle: CachedSequence): void {
    this.#idle.delete(idle);
    this.#passing.delete(idle);
    this.#tree.remove(idle);
  }

  /** What happened since this was called last: once after each step. */
  takeEvents(): CacheEvents {
    const events = this.#events;
    this.#events = { evicted: 0, offloaded: 0, restored: 0 };
    return events;
  }

  #follow(): void {
    for (const sequence of this.#running) this.#tree.follow(sequence);
  }
}
