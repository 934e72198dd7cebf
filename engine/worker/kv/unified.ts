import type { KvCache, KvMemory } from "./cache.ts";
import { CellAccount } from "./cell-account.ts";
import { longestPrefix, type Resident, reusableLength } from "./resident.ts";

export interface UnifiedCacheOptions {
  ids: number;
  cells: number;
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
  readonly #freeIds: number[];
  readonly #running = new Set<Resident>();
  /** Idle prefixes, least recently used first. */
  readonly #idle = new Set<Resident>();

  constructor(memory: KvMemory, options: UnifiedCacheOptions) {
    this.#memory = memory;
    this.#reuse = options.reuse;
    this.cells = options.cells;
    this.#account = new CellAccount(options.cells);
    this.#freeIds = Array.from({ length: options.ids }, (_, i) => options.ids - 1 - i);
  }

  get used(): number {
    return this.#account.used;
  }

  place(sequence: Resident): boolean {
    const tokens = sequence.tokens.slice(0, reusableLength(sequence.tokens));
    const { resident: source, length } = this.#reuse
      ? longestPrefix(tokens, [...this.#running, ...this.#idle])
      : { resident: null, length: 0 };
    const headroom = HEADROOM * this.#running.size;
    const idle = source !== null && this.#idle.has(source);
    if (this.#makeRoom(sequence.tokens.length - length + headroom, source)) {
      if (!this.#start(sequence, source, length)) return false;
    } else if (idle && this.#makeRoom(sequence.tokens.length + headroom, null)) {
      // Its prefix hangs on an idle sequence that is too long to stay.
      if (!this.#start(sequence, null, 0)) return false;
    } else {
      return false;
    }
    this.#running.add(sequence);
    return true;
  }

  extend(sequence: Resident, count: number): boolean {
    const missing = sequence.computed + count - this.#account.held(sequence.id);
    if (missing <= 0) return true;
    if (!this.#makeRoom(missing, null)) return false;
    this.#account.grow(sequence.id, missing);
    return true;
  }

  release(sequence: Resident, keep: boolean): void {
    const { id, computed } = sequence;
    this.#running.delete(sequence);
    sequence.id = -1;
    const tokens = sequence.tokens.slice(0, computed);
    const known = longestPrefix(tokens, [...this.#running, ...this.#idle]).length;
    if (keep && this.#reuse && computed > known) {
      this.#memory.remove(id, computed, -1);
      this.#account.cut(id, computed);
      this.#idle.add({ id, tokens, computed });
      this.#trimIdle();
    } else {
      this.#free(id);
    }
  }

  settle(): void {}

  #start(sequence: Resident, source: Resident | null, length: number): boolean {
    const idle = source !== null && this.#idle.has(source) ? source : null;
    const id = idle?.computed === length ? null : this.#takeId(source);
    if (id !== null) {
      if (source !== null) {
        this.#memory.copy(source.id, id, 0, length);
        this.#account.share(source.id, id, length);
        if (idle !== null && this.#idle.delete(idle)) this.#idle.add(idle);
      }
      sequence.id = id;
    } else if (idle !== null) {
      // Nothing but its prefix would stay of the idle sequence, or there is no other id: it becomes the new one.
      this.#idle.delete(idle);
      this.#memory.remove(idle.id, length, -1);
      this.#account.cut(idle.id, length);
      sequence.id = idle.id;
    } else {
      return false;
    }
    sequence.computed = length;
    return true;
  }

  /** Drops idle prefixes, oldest first, until `count` cells are free; never `keep`. */
  #makeRoom(count: number, keep: Resident | null): boolean {
    for (const idle of this.#idle) {
      if (this.#account.free >= count) break;
      if (idle !== keep) this.#drop(idle);
    }
    return this.#account.free >= count;
  }

  #takeId(keep: Resident | null): number | null {
    if (this.#freeIds.length === 0) {
      const oldest = [...this.#idle].find((idle) => idle !== keep);
      if (oldest !== undefined) this.#drop(oldest);
    }
    return this.#freeIds.pop() ?? null;
  }

  #trimIdle(): void {
    let held = 0;
    for (const idle of this.#idle) held += idle.computed;
    for (const idle of this.#idle) {
      if (held <= this.cells * IDLE_SHARE) return;
      held -= idle.computed;
      this.#drop(idle);
    }
  }

  #drop(idle: Resident): void {
    this.#idle.delete(idle);
    this.#free(idle.id);
  }

  #free(id: number): void {
    this.#memory.remove(id, -1, -1);
    this.#account.cut(id, 0);
    this.#freeIds.push(id);
  }
}
