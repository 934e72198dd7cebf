import type { EngineStatus } from "../protocol/status.ts";
import { capacityForecast } from "./cost/capacity-forecast.ts";
import type { Scheduling } from "./open-scheduling.ts";

/** State of an engine now; also while a step computes. `context`: the longest request in tokens. */
export function statusOf(
  { cache, scheduler, stepModel, limits, reservedCells }: Omit<Scheduling, "context" | "objectives">,
  context: number,
): EngineStatus {
  const { median, mean } = stepModel.error;
  // The limits derive the objectives at each look.
  const { ttftMs, itlMs } = limits;
  const now = { ...limits, ttftMs, itlMs, context, kv: cache.kind };
  return {
    steps: { ...stepModel.steps },
    error: { median, mean, overrun: scheduler.overrun },
    reach: stepModel.reach,
    fit: stepModel.settled ? stepModel.fit : null,
    outlook: stepModel.settled ? capacityForecast(stepModel, now, scheduler.overrun) : null,
    objectives: { ttftMs, itlMs },
    kv: cache.kind,
    cells: { total: cache.cells, used: cache.used, reserved: reservedCells },
    prefixes: cache.idle,
    sequences: { total: limits.sequences, reserved: limits.reserved },
    ...scheduler.byTier,
  };
}
