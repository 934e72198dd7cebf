import type { KvCache, KvMemory } from "./cache.ts";
import { CellAccount } from "./cell-account.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { NO_PREFIX, type PrefixMatch, type Resident, reusableLength } from "./resident.ts";

export interface UnifiedCacheOptions {
  ids: number;
  cells: number;
  /** Cells that lower tiers leave free when they start, for online work; the first of them may use them. */
  reserved: number;
  /** False on models whose memory can't be cut: every sequence starts from nothing. */
  reuse: boolean;
}

/** Cells kept free for each running sequence when another starts, so that it does not run out at once. */
const HEADROOM = 16;
/** The share of the cells that idle prefixes may hold: every row of a step attends over all cells up to the last used. */
const IDLE_SHARE = 0.25;

/** Any id may use any cell (`kv_unified = true`): a prefix is shared without moving a byte. */
export class UnifiedCache implements KvCache {
  readonly kind = "unified";
  readonly copyPrice = 0;
  readonly cells: number;
  readonly #memory: KvMemory;
  readonly #reuse: boolean;
  readonly #account: CellAccount;
  readonly #reserved: number;
  readonly #freeIds: number[];
  readonly #running = new Set<Resident>();
  /** Those of the running that are of lower tiers. */
  readonly #lower = new Set<Resident>();
  /** Idle prefixes, least recently used first. */
  readonly #idle = new Set<Resident>();
  readonly #prefixes = new PrefixTree();

  constructor(memory: KvMemory, options: UnifiedCacheOptions) {
    this.#memory = memory;
    this.#reuse = options.reuse;
    this.cells = options.cells;
    this.#reserved = options.reserved;
    this.#account = new CellAccount(options.cells);
    this.#freeIds = Array.from({ length: options.ids }, (_, i) => options.ids - 1 - i);
  }

  get used(): number {
    return this.#account.used;
  }

  reusable(sequence: Resident): number {
    return this.#prefixFor(sequence).length;
  }

  fitsWithout(sequence: Resident, others: readonly Resident[]): boolean {
    const { resident: source, length } = this.#prefixFor(sequence);
    const taken = source !== null && this.#idle.has(source) ? this.#account.unpinned(source.id, length) : 0;
    const needed = sequence.tokens.length - length + HEADROOM * (this.#running.size - others.length);
    const held = others.reduce((sum, { id }) => sum + this.#account.held(id), 0);
    return needed + taken <= this.#room + held;
  }

  place(sequence: Resident, online: boolean): boolean {
    const { resident: source, length } = this.#prefixFor(sequence);
    const idle = source !== null && this.#idle.has(source) ? source : null;
    const missing = sequence.tokens.length - length;
    const needed = missing + HEADROOM * this.#running.size;
    const room = this.#room - (online || this.#lower.size === 0 ? 0 : this.#reserved);
    if (idle !== null && this.#account.unpinned(idle.id, length) > room - needed) return false;
    if (idle === null && needed > room) return false;

    // The idle sequence goes on as the new one when little of it would be lost, or there is no place for both.
    const both = idle === null || this.#account.unpinned(idle.id, idle.computed) <= room - needed;
    const id = both && idle?.computed !== length ? this.#takeId(source) : null;
    if (id !== null) this.#share(source, id, length);
    else if (idle !== null) this.#takeOver(idle, length);
    else return false;
    sequence.id = id ?? idle!.id;
    sequence.computed = length;
    this.#running.add(sequence);
    this.#prefixes.add(sequence);
    if (!online) this.#lower.add(sequence);
    this.#makeRoom(needed, source);
    // Set aside for the whole prompt, or those that start after it would take what it was let in for.
    this.#account.grow(sequence.id, missing);
    return true;
  }

  extend(sequence: Resident, count: number): boolean {
    const missing = sequence.computed + count - this.#account.held(sequence.id);
    if (missing <= 0) return true;
    if (missing > this.#account.free + this.#account.idle) return false;
    this.#makeRoom(missing, null);
    this.#account.grow(sequence.id, missing);
    return true;
  }

  release(sequence: Resident, keep: boolean): void {
    const { id, computed, scope } = sequence;
    this.#follow();
    const worth = keep && this.#reuse && this.#prefixes.shared(sequence) < computed;
    this.#prefixes.remove(sequence);
    this.#running.delete(sequence);
    this.#lower.delete(sequence);
    sequence.id = -1;
    if (worth) {
      this.#account.cut(id, computed);
      this.#account.rest(id);
      const idle: Resident = { id, tokens: sequence.tokens.slice(0, computed), computed, scope };
      this.#idle.add(idle);
      this.#prefixes.add(idle);
      this.#trimIdle();
    } else {
      this.#free(id);
    }
  }

  settle(): void {}

  /** Each row attends over all cells, whoever holds them. */
  attended(_: Resident, count: number): number {
    return count * this.#account.used;
  }

  get #room(): number {
    return this.#account.free + this.#account.idle;
  }

  #prefixFor(sequence: Resident): PrefixMatch {
    if (!this.#reuse) return NO_PREFIX;
    this.#follow();
    return this.#prefixes.match(sequence, reusableLength(sequence.tokens));
  }

  #follow(): void {
    for (const sequence of this.#running) this.#prefixes.follow(sequence);
  }

  #share(source: Resident | null, id: number, length: number): void {
    if (source !== null) {
      this.#memory.copy(source.id, id, 0, length);
      if (this.#idle.delete(source)) this.#idle.add(source);
    }
    this.#account.start(id, source?.id ?? -1, length);
  }

  #takeOver(idle: Resident, length: number): void {
    this.#forget(idle);
    this.#memory.remove(idle.id, length, -1);
    this.#account.cut(idle.id, length);
    this.#account.resume(idle.id);
  }

  /** Drops idle prefixes, oldest first, until `count` cells are free; never `keep`. */
  #makeRoom(count: number, keep: Resident | null): void {
    for (const idle of this.#idle) {
      if (this.#account.free >= count) return;
      if (idle !== keep) this.#drop(idle);
    }
  }

  #takeId(keep: Resident | null): number | null {
    if (this.#freeIds.length === 0) {
      const oldest = [...this.#idle].find((idle) => idle !== keep);
      if (oldest !== undefined) this.#drop(oldest);
    }
    return this.#freeIds.pop() ?? null;
  }

  /** The newest stays however long it is, or where cells are few the one conversation there is would start anew each turn. */
  #trimIdle(): void {
    for (const idle of this.#idle) {
      if (this.#idle.size === 1 || this.#account.idle <= this.cells * IDLE_SHARE) return;
      this.#drop(idle);
    }
  }

  #drop(idle: Resident): void {
    this.#forget(idle);
    this.#free(idle.id);
  }

  #forget(idle: Resident): void {
    this.#idle.delete(idle);
    this.#prefixes.remove(idle);
  }

  #free(id: number): void {
    this.#memory.remove(id, -1, -1);
    this.#account.drop(id);
    this.#freeIds.push(id);
  }
}
