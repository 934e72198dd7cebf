import type { KvCache, KvMemory } from "./cache.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { commonPrefix, NO_PREFIX, type PrefixMatch, type Resident, reusableLength } from "./resident.ts";

export interface SplitCacheOptions {
  ids: number;
  /** Cells of each id: the longest sequence. */
  capacity: number;
  copyPrice: number;
  /** Ids that lower tiers leave to online work as long as there are others: its start then moves nobody. */
  reserved: number;
  /** False on models whose memory can't be copied or cut: every sequence starts from nothing, and none is moved. */
  reuse: boolean;
}

/**
 * Every id has cells of its own (`kv_unified = false`), and attention costs what the sequence itself holds.
 *
 * llama.cpp computes only ascending consecutive ids in one pass, and a hole costs a pass of its own (8 sequences of a
 * 0.5B model: 139 ms a step, 200 with one hole, 268 with every second id). So online sequences have the lowest ids, and
 * settle() moves the last of them into a hole; lower tiers run above, where parking them leaves no hole. A gap between
 * the two costs nothing while lower tiers are parked, and spares the next online sequences a move: it is closed only when
 * lower tiers decode beside online ones. Every move is a copy of the whole stream, done at the start of the next decode,
 * in the order in which they were asked for. One that runs alone is in order anywhere.
 */
export class SplitCache implements KvCache {
  readonly kind = "split";
  readonly cells: number;
  readonly copyPrice: number;
  readonly #memory: KvMemory;
  readonly #reuse: boolean;
  readonly #reserved: number;
  /** By id; null is empty. */
  readonly #residents: (Resident | null)[];
  readonly #running = new Set<Resident>();
  /** Those of the running that are online. No other has an id below their number. */
  readonly #online = new Set<Resident>();
  /** Idle prefixes, least recently used first. */
  readonly #idle = new Set<Resident>();
  readonly #prefixes = new PrefixTree();

  constructor(memory: KvMemory, options: SplitCacheOptions) {
    this.#memory = memory;
    this.#reuse = options.reuse;
    this.#reserved = options.reserved;
    this.cells = options.ids * options.capacity;
    this.copyPrice = options.copyPrice;
    this.#residents = new Array<Resident | null>(options.ids).fill(null);
  }

  get used(): number {
    let used = 0;
    for (const resident of this.#residents) used += resident?.computed ?? 0;
    return used;
  }

  reusable(sequence: Resident, online: boolean): number {
    return this.#prefixFor(sequence, this.#idleAt(this.#targetFor(sequence, online))).length;
  }

  fitsWithout(_: Resident, others: readonly Resident[]): boolean {
    return this.#running.size - others.length < this.#residents.length;
  }

  place(sequence: Resident, online: boolean): boolean {
    if (this.#running.size === this.#residents.length) return false;
    if (!online && this.#reuse) this.#gatherOnline();
    const target = this.#targetFor(sequence, online);
    const occupant = this.#idleAt(target);
    const inTheWay = this.#runningAt(target);
    if (inTheWay !== null) this.#move(inTheWay, this.#placeAbove(target + 1));
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
    this.#prefixes.add(sequence);
    if (online) this.#online.add(sequence);
    return true;
  }

  extend(): boolean {
    return true;
  }

  release(sequence: Resident, keep: boolean): void {
    const { id, computed, scope } = sequence;
    this.#follow();
    const worth = keep && this.#reuse && this.#prefixes.shared(sequence) < computed;
    this.#prefixes.remove(sequence);
    this.#running.delete(sequence);
    this.#online.delete(sequence);
    this.#residents[id] = null;
    sequence.id = -1;
    if (worth) {
      const idle: Resident = { id, tokens: sequence.tokens.slice(0, computed), computed, scope };
      this.#residents[id] = idle;
      this.#idle.add(idle);
      this.#prefixes.add(idle);
    } else {
      this.#memory.remove(id, -1, -1);
    }
  }

  settle(riders: readonly Resident[]): void {
    // One alone is in order wherever it is.
    if (!this.#reuse || this.#online.size + riders.length < 2) return;
    this.#gatherOnline();
    if (riders.length > 0) this.#gather(riders, this.#online.size > 0 ? this.#online.size : this.#densest(riders));
  }

  attended({ computed }: Resident, count: number): number {
    return count * computed + (count * (count + 1)) / 2;
  }

  /** Brings the online sequences to the ids from 0. */
  #gatherOnline(): void {
    this.#gather([...this.#online], 0);
  }

  /** Brings sequences to consecutive ids from `base`; others that run there make place, as long as there is any. */
  #gather(sequences: readonly Resident[], base: number): void {
    const end = base + sequences.length;
    const inside = ({ id }: Pick<Resident, "id">) => id >= base && id < end;
    const outside = sequences.filter((sequence) => !inside(sequence)).sort((a, b) => a.id - b.id);
    const members = new Set(sequences);
    for (let id = base; id < end && outside.length > 0; id++) {
      const there = this.#runningAt(id);
      if (there !== null && members.has(there)) continue;
      if (there !== null) {
        const above = this.#placeAbove(end);
        const place = above >= 0 ? above : this.#vacant(this.#online.size);
        if (place < 0 || inside({ id: place })) return;
        this.#move(there, place);
      }
      this.#move(outside.pop()!, id);
    }
  }

  /** Where as many consecutive ids as there are riders hold most of them already. */
  #densest(riders: readonly Resident[]): number {
    const ids = riders.map(({ id }) => id).sort((a, b) => a - b);
    let best = 0;
    let most = 0;
    let end = 0;
    for (let start = 0; start < ids.length; start++) {
      while (end < ids.length && ids[end]! < ids[start]! + ids.length) end++;
      if (end - start <= most) continue;
      most = end - start;
      best = ids[start]!;
    }
    return Math.min(best, this.#residents.length - ids.length);
  }

  /** The lowest id from `from` on that does not run; −1 when all do. */
  #vacant(from: number): number {
    return this.#residents.findIndex((_, id) => id >= from && this.#runningAt(id) === null);
  }

  /** A vacant id for a lower tier, above `from` and where it can be above the reserved ones; −1 when all run. */
  #placeAbove(from: number): number {
    const place = this.#vacant(Math.max(from, this.#reserved));
    return place >= 0 ? place : this.#vacant(from);
  }

  /**
   * Where a sequence would run; −1 when all ids run. Online takes the lowest id that no online sequence has, next to the
   * others; a lower tier may be there, and moves up. When it runs alone any id will do: it goes on where its prefix lies if
   * little else lies there, else it takes an empty id or the one used longest ago, so that the conversations of one user
   * are never copied about.
   */
  #targetFor(sequence: Resident, online: boolean): number {
    if (!this.#reuse) return this.#vacant(0);
    if (this.#running.size > 0) {
      if (!online) return this.#placeAbove(this.#online.size);
      return this.#residents.findIndex((resident) => resident === null || !this.#online.has(resident));
    }
    const from = online ? 0 : this.#reserved;
    const { resident, length } = this.#prefixes.match(sequence, reusableLength(sequence.tokens));
    if (resident !== null && resident.id >= from && resident.computed - length <= this.copyPrice) return resident.id;
    const empty = this.#residents.indexOf(null, from);
    if (empty >= 0) return empty;
    for (const { id } of this.#idle) if (id >= from) return id;
    return from;
  }

  #runningAt(id: number): Resident | null {
    const resident = this.#residents[id] ?? null;
    return resident !== null && this.#running.has(resident) ? resident : null;
  }

  #idleAt(id: number): Resident | null {
    const resident = this.#residents[id] ?? null;
    return resident !== null && this.#idle.has(resident) ? resident : null;
  }

  /** The best prefix that pays: one that lies where the sequence will run costs nothing, any other a copy. */
  #prefixFor(sequence: Resident, occupant: Resident | null): PrefixMatch {
    if (!this.#reuse) return NO_PREFIX;
    this.#follow();
    const { tokens, scope } = sequence;
    const limit = reusableLength(tokens);
    const anywhere = this.#prefixes.match(sequence, limit);
    if (occupant?.scope !== scope) return anywhere.length > this.copyPrice ? anywhere : NO_PREFIX;
    const length = commonPrefix(tokens, occupant.tokens, Math.min(limit, occupant.computed));
    if (anywhere.length - length > this.copyPrice) return anywhere;
    return length > 0 ? { resident: occupant, length } : NO_PREFIX;
  }

  #follow(): void {
    for (const sequence of this.#running) this.#prefixes.follow(sequence);
  }

  /**
   * Copies an idle prefix to another id before its own is taken, or forgets it when it is not worth a copy or there is
   * nowhere to go. What its id holds stays until the taker overwrites it.
   *
   * @param taken how much of it the taker goes on with
   */
  #preserve(idle: Resident, taken: number): void {
    this.#follow();
    const kept = Math.max(this.#prefixes.shared(idle), taken);
    const place = idle.computed - kept > this.copyPrice ? this.#roomFor(idle) : -1;
    const from = idle.id;
    if (place >= 0) this.#copyTo(idle, place);
    else this.#forget(idle);
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

  /** Moves a running sequence to an id that does not run. */
  #move(sequence: Resident, target: number): void {
    const { id } = sequence;
    const occupant = this.#residents[target] ?? null;
    if (occupant !== null) this.#preserve(occupant, 0);
    this.#copyTo(sequence, target);
    this.#memory.remove(id, -1, -1);
    this.#residents[id] = null;
  }

  #copyTo(resident: Resident, target: number): void {
    if (resident.computed === 0) this.#memory.remove(target, -1, -1);
    else this.#memory.copy(resident.id, target, -1, -1);
    this.#residents[target] = resident;
    resident.id = target;
  }

  #drop(idle: Resident): void {
    this.#forget(idle);
    this.#residents[idle.id] = null;
    this.#memory.remove(idle.id, -1, -1);
  }

  #forget(idle: Resident): void {
    this.#idle.delete(idle);
    this.#prefixes.remove(idle);
  }
}
