import type { Calibration } from "./calibration/calibrate.ts";
import { stepsOf } from "./calibration/kernels.ts";
import { ObjectiveWatch } from "./cost/objectives.ts";
import { type PlanLimits, planLimits } from "./cost/step-caps.ts";
import { StepModel } from "./cost/step-model.ts";
import type { Reuse } from "./kv/cached-sequence.ts";
import { HostMemory } from "./kv/host-memory.ts";
import type { KvCache } from "./kv/kv-cache.ts";
import { makeCache } from "./kv/make-cache.ts";
import type { ModelParts } from "./loaded-model.ts";
import { Context } from "./native/context.ts";
import type { EmbeddingPlan } from "./native/embedding-plan.ts";
import type { MemoryPlan } from "./native/memory-plan.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler/scheduler.ts";
import type { EngineSequence } from "./step/sequence.ts";

/** The share of sequences and cells that flex and batch leave free for online work. */
const RESERVED_SHARE = 1 / 8;

/** By kind of memory, in a unified cache: llama.cpp takes equally many tokens of each sequence where one has a recurrent state. */
const PASSES = { full: "mixed", "sliding-window": "mixed", hybrid: "equal", recurrent: "consecutive" } as const;

/** The memory of a generating model, and how its steps are computed. */
export interface GenerationPlan extends MemoryPlan {
  /** Host memory for prefixes that the cache has no room for. */
  parkBytes: number;
  /** Null: there is no memory for embeddings. */
  embedding: EmbeddingPlan | null;
  calibration: Calibration;
}

/** The parts that plan and compute the steps of a generating model. */
export interface Scheduling {
  context: Context;
  cache: KvCache;
  stepModel: StepModel;
  objectives: ObjectiveWatch;
  scheduler: Scheduler<EngineSequence>;
  limits: PlanLimits & Pick<SchedulerOptions, "sequences" | "reserved" | "reuse" | "passes" | "opening">;
  /** Cells that flex and batch leave to online work when they start. */
  reservedCells: number;
}

export function openScheduling(
  { library, model, adapters, config, memory: { cellBytes, stateBytes }, threads }: ModelParts,
  plan: GenerationPlan,
  now: () => number,
  opening: number,
): Scheduling {
  const { calibration } = plan;
  const { sequences } = config;
  const attention = { ...config, flashAttention: calibration.flashAttention };
  const context = new Context(library, model, adapters, attention, plan, threads);
  const reuse: Reuse = model.memory === "full" ? "parts" : "whole";
  const reserved = Math.min(sequences - 1, Math.max(1, Math.floor(sequences * RESERVED_SHARE)));
  const reservedCells =
    plan.kv === "unified" ? Math.floor(plan.cells * RESERVED_SHARE) : reserved * context.sequenceCells;

  const stepModel = new StepModel(calibration.tile);
  stepModel.calibrate(stepsOf(calibration.samples, calibration.flash, calibration.tile));
  const objectives = new ObjectiveWatch(
    { ttftMs: config.sloTtftMs, itlMs: config.sloItlMs },
    { sequences, context: plan.context },
  );
  if (calibration.samples.length > 0) objectives.review(stepModel);

  const host = new HostMemory({
    bytes: plan.parkBytes,
    tokenBytes: cellBytes,
    stateBytes,
    reuse,
    recomputeMs: (from, to) => recomputeMs(stepModel, from, to),
    now,
  });
  const cache = makeCache(context, host, plan, cellBytes, { reuse, reserved, reservedCells });
  const passes = PASSES[model.memory];
  const limits = Object.assign(planLimits(config, objectives), { sequences, reserved, reuse, passes, opening });
  const scheduler = new Scheduler<EngineSequence>(cache, limits, stepModel);
  return { context, cache, stepModel, objectives, scheduler, limits, reservedCells };
}

/** Milliseconds to compute the prompt's tokens in [from, to) again, alone. */
function recomputeMs(stepModel: StepModel, from: number, to: number): number {
  const count = to - from;
  return stepModel.predict({
    prefill: count,
    decode: 0,
    kv: 0,
    read: count * from + (count * (count + 1)) / 2,
    passes: 1,
  });
}
