import type { EngineObserver } from "../engine/engine.ts";
import type { StepStats } from "../engine/protocol.ts";
import type { Loads } from "./load.ts";

const SLOT_MS = 1000;
const SLOTS = 30;

/**
 * The share of time that online work took of each engine over the last half minute: the time of every step in which an
 * online request ran. A step that batch lines shared counts whole, for on most machines the online part alone would
 * have taken nearly as long.
 */
export class OnlineLoad implements EngineObserver {
  readonly #loads: Loads;
  readonly #next: EngineObserver;
  readonly #now: () => number;
  readonly #busyMs = new Map<string, Map<number, number>>();

  constructor(loads: Loads, next: EngineObserver, now: () => number) {
    this.#loads = loads;
    this.#next = next;
    this.#now = now;
  }

  /** 0 to 1. */
  of(model: string): number {
    const from = this.#slot() - SLOTS;
    let ms = 0;
    for (const [slot, busy] of this.#busyMs.get(model) ?? []) if (slot > from) ms += busy;
    return Math.min(1, ms / (SLOTS * SLOT_MS));
  }

  step(model: string, stats: StepStats): void {
    this.#next.step(model, stats);
    if (this.#loads.of(model).running === 0) return;
    const slots = this.#busyMs.get(model) ?? new Map<number, number>();
    this.#busyMs.set(model, slots);
    const slot = this.#slot();
    if (!slots.has(slot)) for (const old of slots.keys()) if (old <= slot - SLOTS) slots.delete(old);
    slots.set(slot, (slots.get(slot) ?? 0) + stats.totalMs);
  }

  restarted(model: string): void {
    this.#next.restarted(model);
  }

  #slot(): number {
    return Math.floor(this.#now() / SLOT_MS);
  }
}
