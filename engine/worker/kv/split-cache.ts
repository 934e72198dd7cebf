import {
  type CachedSequence,
  commonPrefix,
  NO_PREFIX,
  type PrefixMatch,
  type Reuse,
  reusableLength,
} from "./cached-sequence.ts";
import { densestIds } from "./densest-ids.ts";
import type { HostMemory } from "./host-memory.ts";
import { IdSlots } from "./id-slots.ts";
import type { Attended, KvCache } from "./kv-cache.ts";
import type { KvMemory } from "./kv-memory.ts";
import { PrefixCache } from "./prefix-cache.ts";

export interface SplitCacheOptions {
  ids: number;
  /** Cells of each id: the longest sequence. */
  capacity: number;
  copyPrice: number;
  /** Ids that lower tiers leave to online work while there are others: an online start then moves no sequence. */
  reserved: number;
  /** Of a `whole` no copy is made between ids, and no sequence is moved. */
  reuse: Reuse;
}

/**
 * Every id has cells of its own (`kv_unified = false`), and attention costs as much as the sequence itself holds.
 *
 * llama.cpp computes only ascending consecutive ids in one pass, and a hole costs a pass of its own (8 sequences of a
 * 0.5B model: 139 ms a step, 200 with one hole, 268 with every second id). So online sequences have the lowest ids, and
 * settle() moves the last decoding one into a hole, or to the id of a prompt that is not in the step. Lower tiers have ids
 * above, where skipping them leaves no hole. A gap between the two costs nothing while lower tiers are skipped, and saves
 * the next online sequences a move: it is closed only when lower tiers decode beside online ones. Every move copies the whole
 * stream at the start of the next decode, in the order of the calls. A sequence that decodes alone is in order at any id.
 */
export class SplitCache implements KvCache {
  readonly kind = "split";
  readonly cells: number;
  readonly copyPrice: number;
  readonly prefixes: PrefixCache;
  readonly #memory: KvMemory;
  readonly #options: SplitCacheOptions;
  readonly #slots: IdSlots;
  /** Running sequences of online tiers. */
  readonly #online = new Set<CachedSequence>();
  /** True where a running sequence, or an idle prefix, may move to another id. */
  readonly #moves: boolean;

  constructor(memory: KvMemory, host: HostMemory, options: SplitCacheOptions) {
    this.#memory = memory;
    this.prefixes = new PrefixCache(host, options.reuse, memory);
    this.#options = options;
    this.#moves = options.reuse === "parts";
    this.cells = options.ids * options.capacity;
    this.copyPrice = options.copyPrice;
    this.#slots = new IdSlots(options.ids, options.reserved, this.prefixes);
  }

  get used(): number {
    return this.#slots.used;
  }

  get idle(): { count: number; cells: number } {
    const cells = [...this.prefixes.idle].reduce((sum, { computed }) => sum + computed, 0);
    return { count: this.prefixes.idle.size, cells };
  }

  reusable(sequence: CachedSequence, online: boolean): number {
    const { length } = this.#prefixFor(sequence, this.#slots.idleAt(this.#targetFor(sequence, online)));
    return this.prefixes.offloaded(sequence, length, online)?.length ?? length;
  }

  fitsWithout(_: CachedSequence, others: readonly CachedSequence[]): boolean {
    return this.prefixes.running.size - others.length < this.#slots.count;
  }

  place(sequence: CachedSequence, online: boolean): boolean {
    if (this.prefixes.running.size === this.#slots.count) return false;
    if (!online && this.#moves) this.#gather([...this.#online], 0);
    if (this.#placeOnOffloaded(sequence, online)) return true;
    const target = this.#targetFor(sequence, online);
    const inTheWay = this.#slots.runningAt(target);
    if (inTheWay !== null) this.#move(inTheWay, this.#slots.vacantForLower(target + 1));
    this.#run(sequence, target, this.#takePrefix(sequence, target), online);
    return true;
  }

  #run(sequence: CachedSequence, id: number, length: number, online: boolean): void {
    // The content of the id past the prefix is removed; without a prefix, all of it.
    this.prefixes.clear(id, length);
    sequence.id = id;
    sequence.computed = length;
    this.#slots.put(id, sequence);
    this.prefixes.start(sequence);
    if (online) this.#online.add(sequence);
  }

  /** Places a sequence on a prefix from host memory, if that pays and an id can be loaded now. */
  #placeOnOffloaded(sequence: CachedSequence, online: boolean): boolean {
    const usual = this.#targetFor(sequence, online);
    const back = this.prefixes.offloaded(sequence, this.#prefixFor(sequence, this.#slots.idleAt(usual)).length, online);
    const id = back === null ? -1 : this.#loadable(usual, online);
    if (back === null || id < 0) return false;
    const idle = this.#slots.idleAt(id);
    if (idle !== null) this.#evict(idle, this.prefixes.shared(idle));
    this.#slots.put(id, null);
    this.prefixes.clear(id);
    const loaded = this.prefixes.restore(back, (state) => this.#memory.load(id, state));
    if (loaded) this.#run(sequence, id, back.length, online);
    else this.prefixes.clear(id);
    return loaded;
  }

  /**
   * An id that a state can be loaded into now, without a pending copy: the usual one if its prefix is not worth a copy, else
   * an empty one, or that of the first idle prefix to evict (an online sequence moves later); −1 without one.
   */
  #loadable(usual: number, online: boolean): number {
    const from = online ? 0 : Math.max(this.#online.size, this.#options.reserved);
    const ready = (id: number) => !this.#memory.moving(id);
    const occupant = this.#slots.idleAt(usual);
    if ((this.#slots.at(usual) === null || (occupant && !this.#isWorthACopy(occupant))) && ready(usual)) return usual;
    const empty = this.#slots.first((resident, id) => resident === null && id >= from && ready(id));
    if (empty >= 0) return empty;
    return this.prefixes.first(({ id }) => id >= from && ready(id))?.id ?? -1;
  }

  #isWorthACopy(idle: CachedSequence, kept = this.prefixes.shared(idle)): boolean {
    return idle.computed - kept > this.copyPrice && this.prefixes.isWanted(idle);
  }

  /** Copies the best prefix that pays to an id, from the cache itself. @returns its length */
  #takePrefix(sequence: CachedSequence, target: number): number {
    const occupant = this.#slots.idleAt(target);
    const { resident: source, length } = this.#prefixFor(sequence, occupant);
    if (source !== null) this.prefixes.touch(source, length);

    if (source !== null && source === occupant) {
      const taken = { id: target, computed: occupant.computed };
      this.#preserve(occupant, length);
      return this.prefixes.cut(taken, length);
    }
    if (occupant !== null) this.#preserve(occupant, 0, source);
    if (source !== null) {
      this.#memory.copy(source.id, target, -1, -1);
      // The sequence holds all of it at its new id.
      if (this.prefixes.idle.has(source) && source.computed === length) {
        this.prefixes.forget(source);
        this.#slots.put(source.id, null);
        this.#memory.remove(source.id, -1, -1);
      }
    }
    return length;
  }

  extend(): boolean {
    return true;
  }

  checkpoint(sequence: CachedSequence, online: boolean): boolean {
    return this.prefixes.checkpoint(sequence, online, () => this.#memory.save(sequence.id));
  }

  release(sequence: CachedSequence, passing: boolean): void {
    const { id } = sequence;
    const idle = this.prefixes.end(sequence, passing);
    this.#online.delete(sequence);
    this.#slots.put(id, idle);
    sequence.id = -1;
    if (idle === null) this.prefixes.clear(id);
  }

  settle(decodes: readonly CachedSequence[]): void {
    // A single sequence is in order at any id.
    if (!this.#moves || decodes.length < 2) return;
    const streams = decodes.filter((sequence) => this.#online.has(sequence));
    const lower = decodes.filter((sequence) => !this.#online.has(sequence));
    this.#gather(streams, 0);
    if (streams.length > 0) this.#gather(lower, this.#online.size);
    else this.#close(lower);
  }

  attention(): Attended {
    return ({ computed }, count) => count * computed + (count * (count + 1)) / 2;
  }

  /** Moves sequences to consecutive ids from `base`; others that run there move away, while there are free ids. */
  #gather(sequences: readonly CachedSequence[], base: number): void {
    const end = base + sequences.length;
    const inside = ({ id }: Pick<CachedSequence, "id">) => id >= base && id < end;
    const outside = sequences.filter((sequence) => !inside(sequence)).sort((a, b) => a.id - b.id);
    const members = new Set(sequences);
    // A sequence that moves into a vacant id leaves one for those that have to move away.
    this.#fill(base, end, outside);
    for (let id = base; id < end && outside.length > 0; id++) {
      const there = this.#slots.runningAt(id)!;
      if (members.has(there)) continue;
      const above = this.#online.has(there) ? this.#slots.vacant(end) : this.#slots.vacantForLower(end);
      const free = above >= 0 ? above : this.#slots.vacant(this.#online.size);
      if (free < 0 || inside({ id: free })) return;
      this.#move(there, free);
      this.#move(outside.pop()!, id);
    }
  }

  /**
   * Moves the decodes that are furthest away into the empty ids among the others. Other running sequences stay there: a plan
   * takes decodes in runs of ids, and a prompt among them decodes soon.
   */
  #close(decodes: readonly CachedSequence[]): void {
    const ids = decodes.map(({ id }) => id);
    const base = densestIds(ids, this.#slots.count);
    const end = base + decodes.length;
    const outside = decodes.filter(({ id }) => id < base || id >= end);
    this.#fill(
      base,
      end,
      outside.sort((a, b) => a.id - b.id),
    );
  }

  /** Moves sequences, the last first, to the ids in [base, end) that do not run. */
  #fill(base: number, end: number, outside: CachedSequence[]): void {
    for (let id = base; id < end && outside.length > 0; id++) {
      if (this.#slots.runningAt(id) === null) this.#move(outside.pop()!, id);
    }
  }

  /**
   * The id at which a sequence would run; −1 when all ids run. An online sequence takes the lowest id that no online sequence
   * has; a lower tier that runs there moves up. A sequence that runs alone may take any id: that of its prefix if little else
   * is there, else an empty one or the least recently used, so that the conversations of one user are never copied.
   */
  #targetFor(sequence: CachedSequence, online: boolean): number {
    if (!this.#moves) return this.#fixedIdFor(sequence);
    if (this.prefixes.running.size > 0) {
      if (!online) return this.#slots.spareForLower(this.#online.size);
      return this.#slots.first((resident) => resident === null || !this.#online.has(resident));
    }
    const from = online ? 0 : this.#options.reserved;
    const { resident, length } = this.#match(sequence);
    if (resident !== null && resident.id >= from && resident.computed - length <= this.copyPrice) return resident.id;
    const empty = this.#slots.empty(from);
    return empty >= 0 ? empty : (this.prefixes.first(({ id }) => id >= from)?.id ?? from);
  }

  /** The id of its prefix; without one, an empty id, or that of the first idle prefix to evict. */
  #fixedIdFor(sequence: CachedSequence): number {
    const { resident } = this.#match(sequence);
    if (resident !== null) return resident.id;
    const empty = this.#slots.empty(0);
    return empty >= 0 ? empty : (this.prefixes.first()?.id ?? -1);
  }

  #match(sequence: CachedSequence): PrefixMatch {
    return this.prefixes.match(sequence, this.#slots.empty(0) < 0);
  }

  /** The best prefix that pays: one at the sequence's target id costs nothing, any other a copy. */
  #prefixFor(sequence: CachedSequence, occupant: CachedSequence | null): PrefixMatch {
    const { tokens, scope } = sequence;
    const anywhere = this.#match(sequence);
    if (!this.#moves) return anywhere.resident === occupant ? anywhere : NO_PREFIX;
    if (occupant?.scope !== scope) return anywhere.length > this.copyPrice ? anywhere : NO_PREFIX;
    const length = commonPrefix(tokens, occupant.tokens, Math.min(reusableLength(tokens), occupant.computed));
    if (anywhere.length - length > this.copyPrice) return anywhere;
    return length > 0 ? { resident: occupant, length } : NO_PREFIX;
  }

  /**
   * Moves an idle prefix to host memory or to another id before its own is taken, or evicts it when it is not worth that or
   * there is no room. The content of its id stays until the new sequence overwrites it.
   *
   * @param taken number of its tokens that the new sequence uses
   * @param needed a resident from which the new sequence is about to be copied
   */
  #preserve(idle: CachedSequence, taken: number, needed: CachedSequence | null = null): void {
    const kept = Math.max(this.prefixes.shared(idle), taken);
    const from = idle.id;
    const worth = this.#isWorthACopy(idle, kept);
    // A copy moves all cells of an id; host memory takes only the tokens.
    const smaller = 2 * idle.computed < this.#options.capacity;
    const offloaded = worth && smaller && this.prefixes.offload(idle, 0, () => this.#memory.save(from), kept);
    const target = this.#moves && worth && !offloaded ? this.#roomFor(idle, needed) : -1;
    if (target >= 0) this.#copyTo(idle, target);
    else if (!offloaded) this.#evict(idle, kept);
    this.#slots.put(from, null);
  }

  /** An id for an idle prefix: the last empty one, away from running sequences, or that of one used less recently. */
  #roomFor(idle: CachedSequence, needed: CachedSequence | null): number {
    const empty = this.#slots.lastEmpty();
    if (empty >= 0) return empty;
    const other = this.prefixes.first((resident) => resident !== needed);
    if (other === null || other === idle) return -1;
    const { id } = other;
    this.#evict(other, this.prefixes.shared(other));
    this.#slots.put(id, null);
    this.#memory.remove(id, -1, -1);
    return id;
  }

  /** Moves a running sequence to an id that does not run. */
  #move(sequence: CachedSequence, target: number): void {
    const { id } = sequence;
    const occupant = this.#slots.at(target);
    if (occupant !== null) this.#preserve(occupant, 0);
    this.#copyTo(sequence, target);
    this.#memory.remove(id, -1, -1);
    this.#slots.put(id, null);
  }

  #copyTo(resident: CachedSequence, target: number): void {
    if (resident.computed === 0) this.#memory.remove(target, -1, -1);
    else this.#memory.copy(resident.id, target, -1, -1);
    this.#slots.put(target, resident);
    resident.id = target;
  }

  /**
   * Evicts an idle prefix. It may be offloaded, but only as a whole: an id's own cells can be restored in no other way.
   *
   * @param kept number of its tokens that another sequence holds
   */
  #evict(idle: CachedSequence, kept: number): void {
    if (idle.computed > kept) this.prefixes.evict(idle, 0, () => this.#memory.save(idle.id), kept);
    else this.prefixes.forget(idle);
  }
}
