import type { CachedSequence, PrefixMatch, Reuse } from "./cached-sequence.ts";
import { CellAccount } from "./cell-account.ts";
import type { HostMemory, Restorable } from "./host-memory.ts";
import type { Attended, KvCache } from "./kv-cache.ts";
import type { KvMemory } from "./kv-memory.ts";
import { PrefixCache } from "./prefix-cache.ts";

export interface UnifiedCacheOptions {
  ids: number;
  cells: number;
  /** Cells that lower tiers leave free for online work when they start; the first sequence of lower tiers may use them. */
  reserved: number;
  reuse: Reuse;
}

/** Cells kept free for each running sequence when another starts, so that cells do not run out at once. */
const HEADROOM = 16;
/** The share of the cells that idle prefixes may hold: every row of a step attends over all cells up to the last used. */
const IDLE_SHARE = 0.25;

/** Any id may use any cell (`kv_unified = true`): a prefix is shared without a copy. */
export class UnifiedCache implements KvCache {
  readonly kind = "unified";
  readonly copyPrice = 0;
  readonly cells: number;
  readonly prefixes: PrefixCache;
  readonly #memory: KvMemory;
  readonly #account: CellAccount;
  readonly #reserved: number;
  /** True where any first tokens of an id can be shared, and where its whole state can. */
  readonly #shares: boolean;
  readonly #sharesStates: boolean;
  /** Idle prefixes that were left for others. */
  readonly #left = new WeakSet<CachedSequence>();
  readonly #freeIds: number[];
  /** Running sequences of lower tiers. */
  readonly #lower = new Set<CachedSequence>();

  constructor(memory: KvMemory, host: HostMemory, options: UnifiedCacheOptions) {
    this.#memory = memory;
    this.prefixes = new PrefixCache(host, options.reuse, memory);
    this.cells = options.cells;
    this.#reserved = options.reserved;
    this.#shares = options.reuse === "parts";
    this.#sharesStates = !this.#shares && memory.sharesStates;
    this.#account = new CellAccount(options.cells);
    this.#freeIds = Array.from({ length: options.ids }, (_, i) => options.ids - 1 - i);
  }

  get used(): number {
    return this.#account.used;
  }

  get idle(): { count: number; cells: number } {
    return { count: this.prefixes.idle.size, cells: this.#account.idle };
  }

  reusable(sequence: CachedSequence, online: boolean): number {
    const { length } = this.#match(sequence);
    return this.prefixes.offloaded(sequence, length, online)?.length ?? length;
  }

  fitsWithout(sequence: CachedSequence, others: readonly CachedSequence[]): boolean {
    const { resident: source, length } = this.#match(sequence);
    const taken = source !== null && this.prefixes.idle.has(source) ? this.#account.unpinned(source.id, length) : 0;
    const needed = sequence.tokens.length - length + HEADROOM * (this.prefixes.running.size - others.length);
    const held = others.reduce((sum, { id }) => sum + this.#account.held(id), 0);
    return needed + taken <= this.#room + held;
  }

  place(sequence: CachedSequence, online: boolean): boolean {
    const { resident: source, length } = this.#match(sequence);
    const back = this.prefixes.offloaded(sequence, length, online);
    if (back !== null && this.#placeWith(back, sequence, source, online)) return true;
    const idle = source !== null && this.prefixes.idle.has(source) ? source : null;
    const missing = sequence.tokens.length - length;
    const needed = missing + HEADROOM * this.prefixes.running.size;
    const room = this.#roomFor(online);
    if (idle !== null && this.#account.unpinned(idle.id, length) > room - needed) return false;
    if (idle === null && needed > room) return false;

    // The idle prefix becomes the new sequence when nothing of it would be lost, or when it would have to be evicted. Where
    // states are reused as a whole, others can begin with it only while it is idle.
    const both = idle === null || this.#account.unpinned(idle.id, idle.computed) <= room - needed;
    const stays = idle === null || this.#freeIds.length > 0 || this.prefixes.first() !== idle;
    const isLost = idle !== null && (idle.computed > length || this.#isForOthers(idle, sequence));
    const isCut = idle !== null && !this.#shares && idle.computed > length;
    const id = both && stays && !isCut && (idle === null || isLost) ? this.#takeId(source) : null;
    let found = length;
    if (id !== null) this.#share(source, id, length);
    else if (idle !== null) found = this.#takeOver(idle, length, isLost && idle.computed === length);
    else return false;
    // A cut that failed leaves nothing, and the cells that other ids hold too are not freed by it.
    if (missing + length - found > this.#room) {
      this.#free(idle!.id);
      return false;
    }
    this.#run(sequence, id ?? idle!.id, found, online);
    this.#makeRoom(needed + length - found, source);
    // Cells are reserved for the whole prompt: later starts would otherwise take them.
    this.#account.grow(sequence.id, missing + length - found);
    return true;
  }

  extend(sequence: CachedSequence, count: number): boolean {
    const missing = sequence.computed + count - this.#account.held(sequence.id);
    if (missing <= 0) return true;
    if (missing > this.#account.free + this.#account.idle) return false;
    this.#makeRoom(missing, null);
    this.#account.grow(sequence.id, missing);
    return true;
  }

  release(sequence: CachedSequence, passing: boolean): void {
    const { id, computed } = sequence;
    const idle = this.prefixes.end(sequence, passing);
    this.#lower.delete(sequence);
    sequence.id = -1;
    if (idle === null) {
      this.#free(id);
    } else {
      this.#account.cut(id, computed);
      this.#account.rest(id);
      this.#trimIdle();
    }
  }

  checkpoint(sequence: CachedSequence, online: boolean): boolean {
    return (
      this.#leave(sequence, online) || this.prefixes.checkpoint(sequence, online, () => this.#memory.save(sequence.id))
    );
  }

  /** Leaves the computed tokens of a running sequence as an idle prefix that shares its cells, for waiting ones. */
  #leave(sequence: CachedSequence, online: boolean): boolean {
    if (!this.#sharesStates || !this.prefixes.isAwaitedByOthers(sequence, sequence)) return false;
    if (this.prefixes.holds(sequence)) return true;
    const first = this.prefixes.first();
    if (this.#freeIds.length === 0 && first !== null && !this.prefixes.isWanted(first)) this.#drop(first);
    const id = this.#freeIds.pop();
    if (id === undefined) return false;
    this.#memory.copy(sequence.id, id, -1, -1);
    this.#account.start(id, sequence.id, sequence.computed);
    this.#account.rest(id);
    this.#left.add(this.prefixes.leave(sequence, id, !online));
    return true;
  }

  /** Whether all of an idle prefix is to stay when a sequence begins with it. Others would have to compute it again. */
  #isForOthers(idle: CachedSequence, sequence: CachedSequence): boolean {
    return this.#sharesStates && (this.#left.has(idle) || this.prefixes.isAwaitedByOthers(idle, sequence));
  }

  settle(): void {}

  /** Each row attends over all cells with a token, of any sequence; those that are reserved have none yet. */
  attention(): Attended {
    let filled = this.#account.used;
    for (const { id, computed } of this.prefixes.running) filled -= this.#account.held(id) - computed;
    return (_, count, before) => count * (filled + before + count);
  }

  get #room(): number {
    return this.#account.free + this.#account.idle;
  }

  /** Of these cells, those that a starting sequence may take. */
  #roomFor(online: boolean): number {
    return this.#room - (online || this.#lower.size === 0 ? 0 : this.#reserved);
  }

  #match(sequence: CachedSequence): PrefixMatch {
    const needed = sequence.tokens.length + HEADROOM * this.prefixes.running.size;
    return this.prefixes.match(sequence, this.#freeIds.length === 0 || this.#account.free < needed);
  }

  /** Places a sequence on a prefix from host memory; the tokens that it shares with `source` are copied from there. */
  #placeWith(back: Restorable, sequence: CachedSequence, source: CachedSequence | null, online: boolean): boolean {
    const { from, computed } = back.offloaded;
    const missing = sequence.tokens.length - from;
    // The whole saved state is loaded, and the part that the sequence cannot use is removed.
    const needed = Math.max(missing, computed - from) + HEADROOM * this.prefixes.running.size;
    const held =
      source !== null && this.prefixes.idle.has(source) ? this.#account.unpinned(source.id, source.computed) : 0;
    if (held > this.#roomFor(online) - needed) return false;
    const id = this.#takeId(source);
    if (id === null) return false;
    this.#account.start(id, source?.id ?? -1, from);
    this.#makeRoom(needed, source);
    this.#account.grow(id, missing);
    const loaded = this.prefixes.restore(back, (state) => this.#memory.load(id, state));
    this.#memory.remove(id, loaded ? back.length : -1, -1);
    if (from > 0) this.#memory.copy(source!.id, id, 0, from);
    if (source !== null) this.prefixes.touch(source, from);
    this.#run(sequence, id, loaded ? back.length : from, online);
    return true;
  }

  #run(sequence: CachedSequence, id: number, computed: number, online: boolean): void {
    sequence.id = id;
    sequence.computed = computed;
    this.prefixes.start(sequence);
    if (!online) this.#lower.add(sequence);
  }

  #share(source: CachedSequence | null, id: number, length: number): void {
    if (source !== null) {
      this.#memory.copy(source.id, id, 0, length);
      this.prefixes.touch(source, length);
    }
    this.#account.start(id, source?.id ?? -1, length);
  }

  /**
   * @param isForOthers whether others may begin with all of it
   * @returns the tokens that the new sequence has
   */
  #takeOver(idle: CachedSequence, length: number, isForOthers: boolean): number {
    const kept = isForOthers ? 0 : length;
    if (idle.computed > kept) this.prefixes.evict(idle, 0, () => this.#memory.save(idle.id), kept);
    else this.prefixes.forget(idle);
    const left = this.prefixes.cut(idle, length);
    this.#account.cut(idle.id, left);
    this.#account.resume(idle.id);
    return left;
  }

  /** Evicts idle prefixes until `count` cells are free; never `keep`. */
  #makeRoom(count: number, keep: CachedSequence | null): void {
    while (this.#account.free < count) {
      const idle = this.prefixes.first((idle) => idle !== keep);
      if (idle === null) return;
      this.#drop(idle);
    }
  }

  #takeId(keep: CachedSequence | null): number | null {
    if (this.#freeIds.length === 0) {
      const idle = this.prefixes.first((idle) => idle !== keep);
      if (idle !== null) this.#drop(idle);
    }
    return this.#freeIds.pop() ?? null;
  }

  /** The last idle prefix stays at any length: otherwise a single conversation in few cells would be computed anew each time. */
  #trimIdle(): void {
    while (this.prefixes.idle.size > 1 && this.#account.idle > this.cells * IDLE_SHARE)
      this.#drop(this.prefixes.first()!);
  }

  /** Evicts an idle prefix; the part that no other sequence holds may be offloaded. */
  #drop(idle: CachedSequence): void {
    const { id } = idle;
    const from = this.prefixes.shared(idle);
    this.prefixes.evict(idle, from, () => {
      if (from > 0) this.#memory.remove(id, 0, from);
      return this.#memory.save(id);
    });
    this.#free(id);
  }

  #free(id: number): void {
    this.prefixes.clear(id);
    this.#account.drop(id);
    this.#freeIds.push(id);
  }
}
