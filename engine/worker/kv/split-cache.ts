import { type CachedSequence, commonPrefix, NO_PREFIX, type PrefixMatch, reusableLength } from "./cached-sequence.ts";
import { densest } from "./densest.ts";
import type { HostMemory } from "./host-memory.ts";
import { IdSlots } from "./id-slots.ts";
import type { KvCache, KvMemory } from "./kv-cache.ts";
import { PrefixCache } from "./prefix-cache.ts";

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
 * settle() moves the last of those that decode into a hole, or in place of a prompt that is not in the step; lower tiers
 * run above, where parking them leaves no hole. A gap between the two costs nothing while lower tiers are offloaded, and
 * spares the next online sequences a move: it is closed only when lower tiers decode beside online ones. Every move is a
 * copy of the whole stream, done at the start of the next decode, in the order in which they were asked for. One that runs
 * alone is in order anywhere.
 */
export class SplitCache implements KvCache {
  readonly kind = "split";
  readonly cells: number;
  readonly copyPrice: number;
  readonly prefixes: PrefixCache;
  readonly #memory: KvMemory;
  readonly #options: SplitCacheOptions;
  readonly #places: IdSlots;
  /** Those of the running that are online. */
  readonly #online = new Set<CachedSequence>();

  constructor(memory: KvMemory, host: HostMemory, options: SplitCacheOptions) {
    this.#memory = memory;
    this.prefixes = new PrefixCache(host, options.reuse);
    this.#options = options;
    this.cells = options.ids * options.capacity;
    this.copyPrice = options.copyPrice;
    this.#places = new IdSlots(options.ids, options.reserved, this.prefixes);
  }

  get used(): number {
    return this.#places.used;
  }

  get idle(): { count: number; cells: number } {
    const cells = [...this.prefixes.idle].reduce((sum, { computed }) => sum + computed, 0);
    return { count: this.prefixes.idle.size, cells };
  }

  reusable(sequence: CachedSequence, online: boolean): number {
    const { length } = this.#prefixFor(sequence, this.#places.idleAt(this.#targetFor(sequence, online)));
    return this.prefixes.offloaded(sequence, length, online)?.length ?? length;
  }

  fitsWithout(_: CachedSequence, others: readonly CachedSequence[]): boolean {
    return this.prefixes.running.size - others.length < this.#places.count;
  }

  place(sequence: CachedSequence, online: boolean): boolean {
    if (this.prefixes.running.size === this.#places.count) return false;
    if (!online && this.#options.reuse) this.#gather([...this.#online], 0);
    if (this.#bringBack(sequence, online)) return true;
    const target = this.#targetFor(sequence, online);
    const inTheWay = this.#places.runningAt(target);
    if (inTheWay !== null) this.#move(inTheWay, this.#places.vacantForLower(target + 1));
    this.#run(sequence, target, this.#takePrefix(sequence, target), online);
    return true;
  }

  #run(sequence: CachedSequence, id: number, length: number, online: boolean): void {
    // Whatever the id held beyond the prefix goes; with no prefix, all of it.
    this.#memory.remove(id, length === 0 ? -1 : length, -1);
    sequence.id = id;
    sequence.computed = length;
    this.#places.put(id, sequence);
    this.prefixes.start(sequence);
    if (online) this.#online.add(sequence);
  }

  /** Places a sequence on a prefix from host memory, if that pays and there is an id that it can be loaded into now. */
  #bringBack(sequence: CachedSequence, online: boolean): boolean {
    const usual = this.#targetFor(sequence, online);
    const back = this.prefixes.offloaded(
      sequence,
      this.#prefixFor(sequence, this.#places.idleAt(usual)).length,
      online,
    );
    const id = back === null ? -1 : this.#loadable(usual, online);
    if (back === null || id < 0) return false;
    const idle = this.#places.idleAt(id);
    if (idle !== null) this.#evict(idle, this.prefixes.shared(idle));
    this.#places.put(id, null);
    const loaded = this.prefixes.restore(back, (state) => this.#memory.load(id, state));
    if (loaded) this.#run(sequence, id, back.length, online);
    else this.#memory.remove(id, -1, -1);
    return loaded;
  }

  /**
   * An id that a state can be loaded into: none that a copy makes free first. The usual one if what lies there is worth no
   * copy, else an empty one or that of the first idle prefix to give way (an online sequence moves later); −1 without one.
   */
  #loadable(usual: number, online: boolean): number {
    const from = online ? 0 : Math.max(this.#online.size, this.#options.reserved);
    const ready = (id: number) => !this.#memory.moving(id);
    const occupant = this.#places.idleAt(usual);
    if ((this.#places.at(usual) === null || (occupant && !this.#isWorthACopy(occupant))) && ready(usual)) return usual;
    const empty = this.#places.first((resident, id) => resident === null && id >= from && ready(id));
    if (empty >= 0) return empty;
    return this.prefixes.first(({ id }) => id >= from && ready(id))?.id ?? -1;
  }

  #isWorthACopy(idle: CachedSequence, kept = this.prefixes.shared(idle)): boolean {
    return idle.computed - kept > this.copyPrice && this.prefixes.isWanted(idle);
  }

  /** Brings the best prefix that pays to an id, out of the cache itself. @returns its length */
  #takePrefix(sequence: CachedSequence, target: number): number {
    const occupant = this.#places.idleAt(target);
    const { resident: source, length } = this.#prefixFor(sequence, occupant);
    if (source !== null) this.prefixes.touch(source, length);

    if (source !== null && source === occupant) this.#preserve(occupant, length);
    else if (occupant !== null) this.#preserve(occupant, 0, source);
    if (source !== null && source !== occupant) {
      this.#memory.copy(source.id, target, -1, -1);
      // All of it has a new place.
      if (this.prefixes.idle.has(source) && source.computed === length) {
        this.prefixes.forget(source);
        this.#places.put(source.id, null);
        this.#memory.remove(source.id, -1, -1);
      }
    }
    return length;
  }

  extend(): boolean {
    return true;
  }

  release(sequence: CachedSequence, passing: boolean): void {
    const { id } = sequence;
    const idle = this.prefixes.end(sequence, passing);
    this.#online.delete(sequence);
    this.#places.put(id, idle);
    sequence.id = -1;
    if (idle === null) this.#memory.remove(id, -1, -1);
  }

  settle(decodes: readonly CachedSequence[]): void {
    // One alone is in order wherever it is.
    if (!this.#options.reuse || decodes.length < 2) return;
    const streams = decodes.filter((sequence) => this.#online.has(sequence));
    const riders = decodes.filter((sequence) => !this.#online.has(sequence));
    this.#gather(streams, 0);
    if (streams.length > 0) this.#gather(riders, this.#online.size);
    else this.#close(riders);
  }

  attended({ computed }: CachedSequence, count: number): number {
    return count * computed + (count * (count + 1)) / 2;
  }

  /** Brings sequences to consecutive ids from `base`; others that run there make place, as long as there is any. */
  #gather(sequences: readonly CachedSequence[], base: number): void {
    const end = base + sequences.length;
    const inside = ({ id }: Pick<CachedSequence, "id">) => id >= base && id < end;
    const outside = sequences.filter((sequence) => !inside(sequence)).sort((a, b) => a.id - b.id);
    const members = new Set(sequences);
    // Who moves into a vacant id leaves one for those that have to make place.
    this.#fill(base, end, outside);
    for (let id = base; id < end && outside.length > 0; id++) {
      const there = this.#places.runningAt(id)!;
      if (members.has(there)) continue;
      const above = this.#online.has(there) ? this.#places.vacant(end) : this.#places.vacantForLower(end);
      const place = above >= 0 ? above : this.#places.vacant(this.#online.size);
      if (place < 0 || inside({ id: place })) return;
      this.#move(there, place);
      this.#move(outside.pop()!, id);
    }
  }

  /**
   * Moves the riders that are furthest off into the empty ids among the others. Whoever else runs there stays: a plan takes
   * riders in runs of ids, and a prompt is about to be one of them.
   */
  #close(riders: readonly CachedSequence[]): void {
    const ids = riders.map(({ id }) => id);
    const base = densest(ids, this.#places.count);
    const end = base + riders.length;
    const outside = riders.filter(({ id }) => id < base || id >= end);
    this.#fill(
      base,
      end,
      outside.sort((a, b) => a.id - b.id),
    );
  }

  /** Moves sequences, the last first, to the ids from `base` to before `end` that do not run. */
  #fill(base: number, end: number, outside: CachedSequence[]): void {
    for (let id = base; id < end && outside.length > 0; id++) {
      if (this.#places.runningAt(id) === null) this.#move(outside.pop()!, id);
    }
  }

  /**
   * Where a sequence would run; −1 when all ids run. Online takes the lowest id that no online sequence has, next to the
   * others; a lower tier may be there, and moves up. When it runs alone any id will do: it goes on where its prefix lies if
   * little else lies there, else it takes an empty id or the one used longest ago, so that the conversations of one user
   * are never copied about.
   */
  #targetFor(sequence: CachedSequence, online: boolean): number {
    if (!this.#options.reuse) return this.#places.vacant(0);
    if (this.prefixes.running.size > 0) {
      if (!online) return this.#places.spareForLower(this.#online.size);
      return this.#places.first((resident) => resident === null || !this.#online.has(resident));
    }
    const from = online ? 0 : this.#options.reserved;
    const { resident, length } = this.prefixes.match(sequence);
    if (resident !== null && resident.id >= from && resident.computed - length <= this.copyPrice) return resident.id;
    const empty = this.#places.empty(from);
    return empty >= 0 ? empty : (this.prefixes.first(({ id }) => id >= from)?.id ?? from);
  }

  /** The best prefix that pays: one that lies where the sequence will run costs nothing, any other a copy. */
  #prefixFor(sequence: CachedSequence, occupant: CachedSequence | null): PrefixMatch {
    if (!this.#options.reuse) return NO_PREFIX;
    const { tokens, scope } = sequence;
    const anywhere = this.prefixes.match(sequence);
    if (occupant?.scope !== scope) return anywhere.length > this.copyPrice ? anywhere : NO_PREFIX;
    const length = commonPrefix(tokens, occupant.tokens, Math.min(reusableLength(tokens), occupant.computed));
    if (anywhere.length - length > this.copyPrice) return anywhere;
    return length > 0 ? { resident: occupant, length } : NO_PREFIX;
  }

  /**
   * Brings an idle prefix to host memory or another id before its own is taken, or forgets it when it is not worth that or
   * there is nowhere to go. What its id holds stays until the taker overwrites it.
   *
   * @param taken how much of it the taker goes on with
   * @param needed a resident that the taker is about to be copied from
   */
  #preserve(idle: CachedSequence, taken: number, needed: CachedSequence | null = null): void {
    const kept = Math.max(this.prefixes.shared(idle), taken);
    const from = idle.id;
    const worth = this.#isWorthACopy(idle, kept);
    // A copy moves all cells of an id. To host memory and back go the tokens alone.
    const smaller = 2 * idle.computed < this.#options.capacity;
    const offloaded = worth && smaller && this.prefixes.offload(idle, 0, () => this.#memory.save(from));
    const place = worth && !offloaded ? this.#roomFor(idle, needed) : -1;
    if (place >= 0) this.#copyTo(idle, place);
    else if (!offloaded) this.#evict(idle, kept);
    this.#places.put(from, null);
  }

  /** An id for an idle prefix: the last empty one, out of the way of those that run, or that of one used longer ago. */
  #roomFor(idle: CachedSequence, needed: CachedSequence | null): number {
    const empty = this.#places.lastEmpty();
    if (empty >= 0) return empty;
    const other = this.prefixes.first((resident) => resident !== needed);
    if (other === null || other === idle) return -1;
    const { id } = other;
    this.#evict(other, this.prefixes.shared(other));
    this.#places.put(id, null);
    this.#memory.remove(id, -1, -1);
    return id;
  }

  /** Moves a running sequence to an id that does not run. */
  #move(sequence: CachedSequence, target: number): void {
    const { id } = sequence;
    const occupant = this.#places.at(target);
    if (occupant !== null) this.#preserve(occupant, 0);
    this.#copyTo(sequence, target);
    this.#memory.remove(id, -1, -1);
    this.#places.put(id, null);
  }

  #copyTo(resident: CachedSequence, target: number): void {
    if (resident.computed === 0) this.#memory.remove(target, -1, -1);
    else this.#memory.copy(resident.id, target, -1, -1);
    this.#places.put(target, resident);
    resident.id = target;
  }

  /**
   * Pushes an idle prefix out; it may go to host memory, as a whole: there is no other way back into an id's own cells.
   *
   * @param kept how much of it is not lost
   */
  #evict(idle: CachedSequence, kept: number): void {
    if (idle.computed > kept) this.prefixes.evict(idle, 0, () => this.#memory.save(idle.id));
    else this.prefixes.forget(idle);
  }
}
