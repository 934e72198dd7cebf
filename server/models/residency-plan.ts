import type { EngineState } from "../../engine/engine.ts";

/** The kind of work that waits for a model that is not in memory. */
export type Demand = "online" | "batch";

export interface Resident {
  id: string;
  /** Memory that the loaded model takes. */
  bytes: number;
  state: EngineState["name"];
  /** All requests in its engine, and those of them that are online. */
  pending: number;
  online: number;
  /** Milliseconds since its last request. */
  idleMs: number;
  demand: Demand | null;
  /** Milliseconds that its oldest online request has waited. */
  waitedMs: number;
  /** Milliseconds since it became ready, and milliseconds that its load took. */
  readyMs: number;
  loadMs: number;
}

export interface ResidencyRules {
  /** Bytes that all loaded models may take together. */
  budget: number;
  /** Milliseconds after its last request until a model is unloaded; null never unloads an idle model. */
  keepAliveMs: number | null;
}

export interface ResidencyPlan {
  load: string[];
  unload: string[];
  /** Models whose batch lines have to leave the engine: an online request needs the memory. */
  recall: string[];
  /** Models that take no new online requests: their time slice is over, and an earlier request needs another model. */
  drain: string[];
}

/** Milliseconds after its last request before a model may be unloaded, so that consecutive requests find it loaded. */
const GRACE_MS = 500;
/** Milliseconds after a model's last request before batch work may take its memory. */
const BATCH_IDLE_MS = 30_000;
/** Time slice in load times: at most a fifth of the time is spent on loading. */
const SLICE_LOADS = 4;
const LEAST_SLICE_MS = 2000;

/**
 * The models to load and to unload now:
 *
 * | model | and | then |
 * |---|---|---|
 * | unloaded, in demand | it fits | loaded |
 * | unloaded, in demand | it would fit without idle models | these are unloaded, the longest idle first |
 * | unloaded, in demand by an online request | it would fit without models that only batch lines use | these lines are recalled |
 * | unloaded, in demand by an online request | it would fit without models whose time slice is over | these are drained, then unloaded |
 * | ready, idle for `keepAliveMs` | it is not in demand | unloaded |
 *
 * Online demand precedes batch demand, the oldest request first. A later demand never takes memory that an earlier one waits
 * for. A time slice is four load times long; without it one busy client could keep all other models unloaded. Batch work
 * takes no memory from a model that was used within half a minute.
 */
export function planResidency(models: readonly Resident[], rules: ResidencyRules): ResidencyPlan {
  const plan: ResidencyPlan = { load: [], unload: [], recall: [], drain: [] };
  const demands = models.filter(({ demand, state }) => demand !== null && state === "unloaded");
  demands.sort((a, b) => Number(a.demand === "batch") - Number(b.demand === "batch") || b.waitedMs - a.waitedMs);
  let held = models.reduce((sum, { state, bytes }) => sum + (holdsNoMemory(state) ? 0 : bytes), 0);
  for (const target of demands) {
    const lacking = held + target.bytes - rules.budget;
    if (lacking > 0) {
      makeRoom(target, lacking, models, rules, plan);
      break;
    }
    plan.load.push(target.id);
    held += target.bytes;
  }
  if (rules.keepAliveMs === null) return plan;
  const idleBound = Math.max(rules.keepAliveMs, GRACE_MS);
  for (const { id, state, pending, idleMs, demand } of models) {
    const idle = state === "ready" && pending === 0 && demand === null && idleMs >= idleBound;
    if (idle && !plan.unload.includes(id)) plan.unload.push(id);
  }
  return plan;
}

/** Unloads models only if the memory of those that may be unloaded is enough. */
function makeRoom(
  target: Resident,
  lacking: number,
  models: readonly Resident[],
  { keepAliveMs }: ResidencyRules,
  plan: ResidencyPlan,
): void {
  const batch = target.demand === "batch";
  const idleBound = batch ? Math.max(GRACE_MS, Math.min(BATCH_IDLE_MS, keepAliveMs ?? BATCH_IDLE_MS)) : GRACE_MS;
  const sliceIsOver = (model: Resident) =>
    !batch &&
    model.readyMs >= sliceOf(model, target) &&
    (model.demand !== "online" || model.waitedMs < target.waitedMs);
  const ready = models.filter((model) => model.state === "ready" && (model.demand !== "online" || sliceIsOver(model)));
  const idle = ready.filter((model) => model.pending === 0 && (model.idleMs >= idleBound || sliceIsOver(model)));
  const batchOnly = batch ? [] : ready.filter(({ pending, online }) => pending > 0 && online === 0);
  const expired = ready.filter((model) => model.online > 0 && sliceIsOver(model));
  let missing = lacking;
  for (const { state, bytes } of models) if (state === "unloading") missing -= bytes;
  const leaving: Resident[] = [];
  const candidates = [
    ...idle.sort((a, b) => b.idleMs - a.idleMs),
    ...batchOnly,
    ...expired.sort((a, b) => b.readyMs - a.readyMs),
  ];
  for (const model of candidates) {
    if (missing <= 0) break;
    leaving.push(model);
    missing -= model.bytes;
  }
  if (missing > 0) return;
  for (const model of leaving) {
    (model.pending > 0 ? plan.recall : plan.unload).push(model.id);
    if (expired.includes(model)) plan.drain.push(model.id);
  }
}

function sliceOf({ loadMs }: Resident, target: Resident): number {
  return Math.max(LEAST_SLICE_MS, SLICE_LOADS * Math.max(loadMs, target.loadMs));
}

/** True if an engine in this state holds no memory. */
export function holdsNoMemory(state: EngineState["name"]): boolean {
  return state === "unloaded" || state === "failed" || state === "closed";
}
