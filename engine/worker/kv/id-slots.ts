import type { CachedSequence } from "./cached-sequence.ts";
import type { PrefixCache } from "./prefix-cache.ts";

/** The resident of each id of a split cache, and which ids can be taken. */
export class IdSlots {
  /** By id; null is empty. */
  readonly #residents: (CachedSequence | null)[];
  readonly #reserved: number;
  readonly #prefixes: Pick<PrefixCache, "running" | "idle" | "isWanted">;

  /** @param reserved number of the first ids that lower tiers leave free while there are others */
  constructor(ids: number, reserved: number, prefixes: Pick<PrefixCache, "running" | "idle" | "isWanted">) {
    this.#residents = new Array<CachedSequence | null>(ids).fill(null);
    this.#reserved = reserved;
    this.#prefixes = prefixes;
  }

  get count(): number {
    return this.#residents.length;
  }

  /** Cells that hold tokens. */
  get used(): number {
    let used = 0;
    for (const resident of this.#residents) used += resident?.computed ?? 0;
    return used;
  }

  at(id: number): CachedSequence | null {
    return this.#residents[id] ?? null;
  }

  runningAt(id: number): CachedSequence | null {
    const resident = this.at(id);
    return resident !== null && this.#prefixes.running.has(resident) ? resident : null;
  }

  idleAt(id: number): CachedSequence | null {
    const resident = this.at(id);
    return resident !== null && this.#prefixes.idle.has(resident) ? resident : null;
  }

  put(id: number, resident: CachedSequence | null): void {
    this.#residents[id] = resident;
  }

  /** The first id that suits; −1 without one. */
  first(suits: (resident: CachedSequence | null, id: number) => boolean): number {
    return this.#residents.findIndex(suits);
  }

  /** The first empty id from `from` on; −1 without one. */
  empty(from: number): number {
    return this.#residents.indexOf(null, from);
  }

  lastEmpty(): number {
    return this.#residents.lastIndexOf(null);
  }

  /** The lowest id from `from` on that does not run; −1 without one. */
  vacant(from: number): number {
    return this.#residents.findIndex((_, id) => id >= from && this.runningAt(id) === null);
  }

  /** A vacant id for a lower tier, from `from` on and if possible above the reserved ones; −1 when all run. */
  vacantForLower(from: number): number {
    const place = this.vacant(Math.max(from, this.#reserved));
    return place >= 0 ? place : this.vacant(from);
  }

  /** The same, if possible without an idle prefix that is worth keeping. */
  spareForLower(from: number): number {
    const spare = this.#residents.findIndex((resident, id) => {
      if (id < Math.max(from, this.#reserved) || this.runningAt(id) !== null) return false;
      return resident === null || !this.#prefixes.isWanted(resident);
    });
    return spare >= 0 ? spare : this.vacantForLower(from);
  }
}
