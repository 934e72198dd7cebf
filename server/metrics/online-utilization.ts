import type { EngineObserver } from "../../engine/engine.ts";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import type { StepStats } from "../../engine/protocol/step.ts";

const SLOT_MS = 1000;
const SLOTS = 30;

/**
 * The share of each engine's time that online work used over the last half minute: for each step the time that the step
 * model predicts for its online part alone, and the time of embedding decodes with online inputs.
 */
export class OnlineUtilization implements Pick<EngineObserver, "step" | "piece"> {
  readonly #now: () => number;
  readonly #busyMs = new Map<string, Map<number, number>>();

  constructor(now: () => number) {
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
    this.#note(model, stats.onlineMs);
  }

  piece(model: string, stats: PieceStats): void {
    this.#note(model, stats.online ? stats.ms : 0);
  }

  #note(model: string, onlineMs: number): void {
    if (onlineMs === 0) return;
    const slots = this.#busyMs.get(model) ?? new Map<number, number>();
    this.#busyMs.set(model, slots);
    const slot = this.#slot();
    if (!slots.has(slot)) for (const old of slots.keys()) if (old <= slot - SLOTS) slots.delete(old);
    slots.set(slot, (slots.get(slot) ?? 0) + onlineMs);
  }

  #slot(): number {
    return Math.floor(this.#now() / SLOT_MS);
  }
}
