import type { EngineObserver } from "../../engine/engine.ts";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import type { StepStats } from "../../engine/protocol/step.ts";

/** Forwards engine events to several observers in order, each event to those that have a method for it. */
export class EngineObserverFanOut implements EngineObserver {
  readonly #observers: readonly Partial<EngineObserver>[];

  constructor(observers: readonly Partial<EngineObserver>[]) {
    this.#observers = observers;
  }

  step(model: string, stats: StepStats): void {
    for (const observer of this.#observers) observer.step?.(model, stats);
  }

  piece(model: string, stats: PieceStats): void {
    for (const observer of this.#observers) observer.piece?.(model, stats);
  }

  started(model: string, pid: number | null): void {
    for (const observer of this.#observers) observer.started?.(model, pid);
  }

  ended(model: string): void {
    for (const observer of this.#observers) observer.ended?.(model);
  }

  restarted(model: string): void {
    for (const observer of this.#observers) observer.restarted?.(model);
  }
}
