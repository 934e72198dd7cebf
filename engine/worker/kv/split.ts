import type { KvCache, KvMemory } from "./cache.ts";
import { longestPrefix, type Resident, reusableLength } from "./resident.ts";

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
 * start of the next decode, in the order in which they were asked for.
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

  place(sequence: Resident): boolean {
    const target = this.#residents.findIndex((resident) => resident === null || !this.#running.has(resident));
    if (target < 0) return false;
    const occupant = this.#residents[target] ?? null;
    const prefix = this.#reuse ? this.#prefixFor(sequence, occupant) : { resident: null, length: 0 };
    const { resident: source, length } = prefix;
    if (source !== null && this.#idle.delete(source)) this.#idle.add(source);

    if (occupant !== null) this.#preserve(occupant, source);
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
    const others = this.#residents.filter((resident) => resident !== null);
    const known = longestPrefix(sequence.tokens.slice(0, computed), others).length;
    if (keep && this.#reuse && computed > known) {
      const idle: Resident = { id, tokens: sequence.tokens.slice(0, computed), computed };
      this.#residents[id] = idle;
      this.#idle.add(idle);
    } else {
      this.#memory.remove(id, -1, -1);
    }
  }

  settle(): void {
    if (!this.#reuse) return;
    for (;;) {
      const last = this.#residents.findLastIndex((resident) => resident !== null && this.#running.has(resident));
      const hole = this.#residents.findIndex((resident) => resident === null || !this.#running.has(resident));
      if (hole < 0 || hole > last) return;
      const occupant = this.#residents[hole] ?? null;
      if (occupant !== null) this.#preserve(occupant, null);
      const moved = this.#residents[last]!;
      this.#copyTo(moved, hole);
      this.#memory.remove(last, -1, -1);
      this.#residents[last] = null;
    }
  }

  /** The best prefix that pays: one that lies where the sequence will run costs nothing, any other a copy. */
  #prefixFor(sequence: Resident, occupant: Resident | null) {
    const tokens = sequence.tokens.slice(0, reusableLength(sequence.tokens));
    const inPlace = longestPrefix(tokens, occupant === null ? [] : [occupant]);
    const anywhere = longestPrefix(tokens, [...this.#running, ...this.#idle]);
    return anywhere.length - inPlace.length > this.copyPrice ? anywhere : inPlace;
  }

  /**
   * Copies an idle prefix to another id before its own is taken, or forgets it when it is not worth a copy or there is
   * nowhere to go. What its id holds stays until the taker overwrites it.
   */
  #preserve(idle: Resident, keep: Resident | null): void {
    const others = [...this.#running, ...this.#idle].filter((resident) => resident !== idle);
    const unique = idle.computed - longestPrefix(idle.tokens, others).length;
    const from = idle.id;
    let place = unique > this.copyPrice ? this.#residents.indexOf(null) : -1;
    if (place < 0 && unique > this.copyPrice) {
      const oldest = [...this.#idle].find((resident) => resident !== keep);
      if (oldest !== undefined && oldest !== idle) {
        place = oldest.id;
        this.#drop(oldest);
      }
    }
    if (place >= 0) this.#copyTo(idle, place);
    else this.#idle.delete(idle);
    this.#residents[from] = null;
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
