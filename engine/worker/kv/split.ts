import type { KvCache, KvMemory } from "./cache.ts";
import { covers, longestPrefix, NO_PREFIX, type PrefixMatch, type Resident, reusableLength } from "./resident.ts";

export interface SplitCacheOptions {
  ids: number;
  /** Cells of each id: the longest sequence. */
  capacity: number;
  copyPrice: number;
  /** False on models whose memory can't be copied or cut: every sequence starts from nothing, and none is moved. */
  reuse: boolean;
}

/**
 * Every id has cells of its own (`kv_unified = false`), and attention costs what the sequence itself holds.
 *
 * llama.cpp computes only ascending consecutive ids in one pass, and a hole costs a pass of its own (8 sequences of a
 * 0.5B model: 139 ms a step, 200 with one hole, 268 with every second id). So a new sequence takes the lowest id that
 * does not run, and settle() moves the last running one into a hole. Every move is a copy of the whole stream, done at the
 * start of the next decode, in the order in which they were asked for. One that runs alone is in order anywhere.
 */
export class SplitCache implements KvCache {
  readonly kind = "split";
  readonly cells: number;
  readonly copyPrice: number;
  readonly #memory: KvMemory;
  readonly #reuse: boolean;
  /** By id; null is empty. */
  readonly #residents: (Resident | null)[];
  readonly #running = new Set<Resident>();
  /** Idle prefixes, least recently used first. */
  readonly #idle = new Set<Resident>();

  constructor(memory: KvMemory, options: SplitCacheOptions) {
    this.#memory = memory;
    this.#reuse = options.reuse;
    this.cells = options.ids * options.capacity;
    this.copyPrice = options.copyPrice;
    this.#residents = new Array<Resident | null>(options.ids).fill(null);
  }

  get used(): number {
    let used = 0;
    for (const resident of this.#residents) used += resident?.computed ?? 0;
    return used;
  }

  reusable(sequence: Resident): number {
    return this.#prefixFor(sequence, this.#residents[this.#targetFor(sequence)] ?? null).length;
  }

  place(sequence: Resident): boolean {
    const target = this.#targetFor(sequence);
    if (target < 0) return false;
    const occupant = this.#residents[target] ?? null;
    const { resident: source, length } = this.#prefixFor(sequence, occupant);
    if (source !== null && this.#idle.delete(source)) this.#idle.add(source);

    if (occupant !== null) this.#preserve(occupant, source === occupant ? length : 0);
    if (source !== null && source !== occupant) {
      this.#memory.copy(source.id, target, -1, -1);
      if (this.#idle.has(source) && source.computed === length) this.#drop(source);
    }
    // Whatever the id held beyond the prefix goes; with no prefix, all of it.
    this.#memory.remove(target, length === 0 ? -1 : length, -1);
    sequence.id = target;
    sequence.computed = length;
    this.#residents[target] = sequence;
    this.#running.add(sequence);
    return true;
  }

  extend(): boolean {
    return true;
  }

  release(sequence: Resident, keep: boolean): void {
    const { id, computed } = sequence;
    this.#running.delete(sequence);
    this.#residents[id] = null;
    sequence.id = -1;
    const idle: Resident = { id, tokens: sequence.tokens.slice(0, computed), computed };
    const others = [...this.#running, ...this.#idle];
    if (keep && this.#reuse && computed > 0 && !others.some((other) => covers(other, idle))) {
      this.#residents[id] = idle;
      this.#idle.add(idle);
    } else {
      this.#memory.remove(id, -1, -1);
    }
  }

  settle(): void {
    // One alone is in order wherever it is.
    if (!this.#reuse || this.#running.size < 2) return;
    for (;;) {
      const last = this.#residents.findLastIndex((resident) => resident !== null && this.#running.has(resident));
      const hole = this.#hole();
      if (hole < 0 || hole > last) return;
      const occupant = this.#residents[hole] ?? null;
      if (occupant !== null) this.#preserve(occupant, 0);
      const moved = this.#residents[last]!;
      this.#copyTo(moved, hole);
      this.#memory.remove(last, -1, -1);
      this.#residents[last] = null;
    }
  }

  /** The lowest id that does not run; −1 when all do. */
  #hole(): number {
    return this.#residents.findIndex((resident) => resident === null || !this.#running.has(resident));
  }

  /**
   * Where a sequence would run: the lowest id that does not, next to the others. When it runs alone any id will do: it goes
   * on where its prefix lies if little else lies there, else it takes an empty id or the one used longest ago, so that the
   * conversations of one user are never copied about.
   */
  #targetFor({ tokens }: Resident): number {
    if (this.#running.size > 0 || !this.#reuse) return this.#hole();
    const { resident, length } = longestPrefix(tokens, reusableLength(tokens), this.#idle);
    if (resident !== null && resident.computed - length <= this.copyPrice) return resident.id;
    const empty = this.#residents.indexOf(null);
    const [oldest] = this.#idle;
    return empty >= 0 ? empty : oldest!.id;
  }

  /** The best prefix that pays: one that lies where the sequence will run costs nothing, any other a copy. */
  #prefixFor({ tokens }: Resident, occupant: Resident | null): PrefixMatch {
    if (!this.#reuse) return NO_PREFIX;
    const limit = reusableLength(tokens);
    const inPlace = longestPrefix(tokens, limit, occupant === null ? [] : [occupant]);
    const anywhere = longestPrefix(tokens, limit, [...this.#running, ...this.#idle]);
    return anywhere.length - inPlace.length > this.copyPrice ? anywhere : inPlace;
  }

  /**
   * Copies an idle prefix to another id before its own is taken, or forgets it when it is not worth a copy or there is
   * nowhere to go. What its id holds stays until the taker overwrites it.
   *
   * @param taken how much of it the taker goes on with
   */
  #preserve(idle: Resident, taken: number): void {
    const others = [...this.#running, ...this.#idle].filter((resident) => resident !== idle);
    const elsewhere = longestPrefix(idle.tokens, idle.computed, others).length;
    const place = idle.computed - Math.max(elsewhere, taken) > this.copyPrice ? this.#roomFor(idle) : -1;
    const from = idle.id;
    if (place >= 0) this.#copyTo(idle, place);
    else this.#idle.delete(idle);
    this.#residents[from] = null;
  }

  /** An id for an idle prefix: the last empty one, out of the way of those that run, or that of one used longer ago. */
  #roomFor(idle: Resident): number {
    const empty = this.#residents.lastIndexOf(null);
    const [oldest] = this.#idle;
    // A prefix that was just found is the newest, so what is copied from is never what is dropped.
    if (empty >= 0 || oldest === undefined || oldest === idle) return empty;
    const { id } = oldest;
    this.#drop(oldest);
    return id;
  }

  #copyTo(resident: Resident, target: number): void {
    this.#memory.copy(resident.id, target, -1, -1);
    this.#residents[target] = resident;
    resident.id = target;
  }

  #drop(idle: Resident): void {
    this.#idle.delete(idle);
    this.#residents[idle.id] = null;
    this.#memory.remove(idle.id, -1, -1);
  }
}
