import type { EngineStatus } from "../protocol/status.ts";
import { type OutlookOptions, outlookOf } from "./cost/capacity-forecast.ts";
import type { StepModel } from "./cost/step-model.ts";
import type { KvCache } from "./kv/kv-cache.ts";
import type { Sequence } from "./scheduler/scheduled-sequence.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";

export interface StatusParts {
  cache: KvCache;
  scheduler: Pick<Scheduler<Sequence>, "byTier" | "overrun">;
  stepModel: StepModel;
  options: Omit<OutlookOptions, "kv" | "context">;
  /** The longest request in tokens. */
  context: number;
  /** Cells that flex and batch leave to online work when they start. */
  reservedCells: number;
}

/** How an engine is doing now; may be asked for while a step computes. */
export function statusOf({ cache, scheduler, stepModel, options, context, reservedCells }: StatusParts): EngineStatus {
  const { median, mean } = stepModel.error;
  const { ttftMs, itlMs } = options;
  const house = { ...options, ttftMs, itlMs, context, kv: cache.kind };
  return {
    steps: { ...stepModel.steps },
    error: { median, mean, overrun: scheduler.overrun },
    reach: stepModel.reach,
    fit: stepModel.settled ? stepModel.fit : null,
    outlook: stepModel.settled ? outlookOf(stepModel, house, scheduler.overrun) : null,
    objectives: { ttftMs, itlMs },
    kv: cache.kind,
    cells: { total: cache.cells, used: cache.used, reserved: reservedCells },
    prefixes: cache.idle,
    sequences: { total: options.sequences, reserved: options.reserved },
    ...scheduler.byTier,
  };
}
