import type { KvKind } from "../../protocol/config.ts";
import type { StepOutlook } from "../../protocol/status.ts";
import { USUAL_CONTEXT } from "./objectives.ts";
import { aloneMs, besideOnlineMs, type PlanLimits } from "./step-caps.ts";
import type { StepCosts, StepShape } from "./step-model.ts";

const BATCH_SIZES = Array.from({ length: 10 }, (_, i) => 2 ** i);

export interface CapacityForecastOptions extends PlanLimits {
  kv: KvKind;
  /** The longest request in tokens. */
  context: number;
  /** Most sequences that run at once. */
  sequences: number;
  /** Of these, sequences that flex and batch leave to online work. */
  reserved: number;
}

/** Predicts steps that were not planned yet, under the current caps of a plan. */
export function capacityForecast(costs: StepCosts, options: CapacityForecastOptions, overrun = 1): StepOutlook {
  const { kv, sequences, reserved, stepTokens } = options;
  // Prompt and answer so far.
  const context = Math.min(USUAL_CONTEXT, options.context >> 1);
  const decodes = (count: number) => costs.predict(decodeShape(count, context, kv));
  const lower = sequences - reserved;
  const aloneCap = aloneMs(decodes(1), options, overrun);
  return {
    context,
    decodes: BATCH_SIZES.map((batch) => ({ batch, ms: decodes(batch) })),
    alone: {
      ms: aloneCap,
      decodes: most(lower, (count) => decodes(count) <= aloneCap),
      prefill: most(stepTokens, (count) => costs.predict(prefillShape(count)) <= aloneCap),
    },
    beside: BATCH_SIZES.filter((streams) => streams < sequences).map((streams) => {
      const onlineMs = decodes(streams);
      const ms = besideOnlineMs(onlineMs, options);
      const room = Math.min(lower, sequences - streams);
      return { streams, onlineMs, ms, decodes: most(room, (count) => decodes(streams + count) <= ms) };
    }),
  };
}

/** Sequences of `context` positions without a common prefix; in a unified cache each attends over the cells of all. */
function decodeShape(count: number, context: number, kv: KvKind): StepShape {
  return { prefill: 0, decode: count, kv: count * context * (kv === "unified" ? count : 1), read: 0, passes: 1 };
}

/** The beginning of one prompt. */
function prefillShape(count: number): StepShape {
  return { prefill: count, decode: 0, kv: 0, read: (count * (count + 1)) / 2, passes: 1 };
}

/** The largest count up to `limit` for which it and all smaller counts fit. */
function most(limit: number, fits: (count: number) => boolean): number {
  let count = 0;
  while (count < limit && fits(count + 1)) count++;
  return count;
}
