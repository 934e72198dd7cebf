import type { KvKind } from "../../protocol/config.ts";
import type { StepOutlook } from "../../protocol/status.ts";
import { aloneMs, besideOnlineMs, type PlanLimits } from "./step-caps.ts";
import type { StepCosts, StepShape } from "./step-model.ts";

const BATCH_SIZES = Array.from({ length: 10 }, (_, i) => 2 ** i);
/** Of every sequence, prompt and answer so far, unless the model's context is shorter than two such. */
const USUAL_CONTEXT = 512;

export interface OutlookOptions extends PlanLimits {
  kv: KvKind;
  /** The longest request in tokens. */
  context: number;
  /** Sequences that may run at once. */
  sequences: number;
  /** Of these, those that flex and batch leave to online work. */
  reserved: number;
}

/** What the step model expects of steps that were not planned yet, under the caps that the plan works with now. */
export function outlookOf(costs: StepCosts, options: OutlookOptions, overrun = 1): StepOutlook {
  const { kv, sequences, reserved, stepTokens } = options;
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

/** Sequences of `context` positions with nothing in common; in a unified cache each attends over the cells of all. */
function decodeShape(count: number, context: number, kv: KvKind): StepShape {
  return { prefill: 0, decode: count, kv: count * context * (kv === "unified" ? count : 1), read: 0, passes: 1 };
}

/** The beginning of one prompt. */
function prefillShape(count: number): StepShape {
  return { prefill: count, decode: 0, kv: 0, read: (count * (count + 1)) / 2, passes: 1 };
}

/** The largest count up to `limit` that fits; what fits is no more than all below it. */
function most(limit: number, fits: (count: number) => boolean): number {
  let count = 0;
  while (count < limit && fits(count + 1)) count++;
  return count;
}
