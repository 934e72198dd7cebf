import type { EngineState } from "../../engine/engine.ts";

/** Who waits for a model that is not in memory. */
export type Want = "online" | "batch";

export interface Resident {
  id: string;
  /** What it takes when it is loaded. */
  bytes: number;
  state: EngineState["name"];
  /** Requests that it has, and those of online tiers among them. */
  pending: number;
  online: number;
  /** How long it has had no request, in milliseconds. */
  idleMs: number;
  wanted: Want | null;
  /** How long online requests have asked for it without getting it, in milliseconds. */
  waitedMs: number;
  /** How long it has been ready, and how long it took to load. */
  turnMs: number;
  loadMs: number;
}

export interface ResidencyRules {
  /** Bytes that loaded models may take together. */
  budget: number;
  /** How long a model may be idle before it is unloaded, in milliseconds; null is for ever. */
  keepAliveMs: number | null;
}

export interface ResidencyPlan {
  load: string[];
  unload: string[];
  /** Models whose batch lines have to leave the engine: an online request needs the memory. */
  recall: string[];
  /** Models that take no new online requests: their turn is over, and another one was asked for before. */
  drain: string[];
}

/** A model that was just used is not unloaded under the hands of the next request. */
const GRACE_MS = 500;
/** A batch lets other models have the memory for so long after their last request. */
const BATCH_PATIENCE_MS = 30_000;
/** A turn of a model that others wait for: at most a fifth of the time goes into loading. */
const TURN_LOADS = 4;
const LEAST_TURN_MS = 2000;

/**
 * Which models come into memory and which leave it now:
 *
 * | model | and | then |
 * |---|---|---|
 * | unloaded, wanted | there is room | loaded |
 * | unloaded, wanted | there would be without idle ones | these are unloaded, the longest idle first |
 * | unloaded, wanted by an online request | there would be without those that only batch lines use | these lines are recalled |
 * | unloaded, wanted by an online request | there would be without those whose turn is over | these are drained, then unloaded |
 * | ready, idle for `keepAliveMs` | nobody wants it | unloaded |
 *
 * Online wants come before batch wants, that of the oldest request first, and who comes later does not take what an
 * earlier one waits for. A turn is four loads long; without it one busy client could keep all other models out. Batch
 * takes nothing from a model that was used within half a minute.
 */
export function planResidency(models: readonly Resident[], rules: ResidencyRules): ResidencyPlan {
  const plan: ResidencyPlan = { load: [], unload: [], recall: [], drain: [] };
  const wants = models.filter(({ wanted, state }) => wanted !== null && state === "unloaded");
  wants.sort((a, b) => Number(a.wanted === "batch") - Number(b.wanted === "batch") || b.waitedMs - a.waitedMs);
  let held = models.reduce((sum, { state, bytes }) => sum + (isOut(state) ? 0 : bytes), 0);
  for (const want of wants) {
    const lacking = held + want.bytes - rules.budget;
    if (lacking > 0) {
      makeRoom(want, lacking, models, rules, plan);
      break;
    }
    plan.load.push(want.id);
    held += want.bytes;
  }
  if (rules.keepAliveMs === null) return plan;
  const patience = Math.max(rules.keepAliveMs, GRACE_MS);
  for (const { id, state, pending, idleMs, wanted } of models) {
    const idle = state === "ready" && pending === 0 && wanted === null && idleMs >= patience;
    if (idle && !plan.unload.includes(id)) plan.unload.push(id);
  }
  return plan;
}

/** Nothing leaves in vain: only when what may leave is enough does any of it. */
function makeRoom(
  want: Resident,
  lacking: number,
  models: readonly Resident[],
  { keepAliveMs }: ResidencyRules,
  plan: ResidencyPlan,
): void {
  const batch = want.wanted === "batch";
  const patience = batch ? Math.max(GRACE_MS, Math.min(BATCH_PATIENCE_MS, keepAliveMs ?? BATCH_PATIENCE_MS)) : GRACE_MS;
  const isOver = (model: Resident) =>
    !batch && model.turnMs >= turnOf(model, want) && (model.wanted !== "online" || model.waitedMs < want.waitedMs);
  const ready = models.filter((model) => model.state === "ready" && (model.wanted !== "online" || isOver(model)));
  const idle = ready.filter((model) => model.pending === 0 && (model.idleMs >= patience || isOver(model)));
  const lent = batch ? [] : ready.filter(({ pending, online }) => pending > 0 && online === 0);
  const over = ready.filter((model) => model.online > 0 && isOver(model));
  let missing = lacking;
  for (const { state, bytes } of models) if (state === "unloading") missing -= bytes;
  const leaving: Resident[] = [];
  const candidates = [
    ...idle.sort((a, b) => b.idleMs - a.idleMs),
    ...lent,
    ...over.sort((a, b) => b.turnMs - a.turnMs),
  ];
  for (const model of candidates) {
    if (missing <= 0) break;
    leaving.push(model);
    missing -= model.bytes;
  }
  if (missing > 0) return;
  for (const model of leaving) {
    (model.pending > 0 ? plan.recall : plan.unload).push(model.id);
    if (over.includes(model)) plan.drain.push(model.id);
  }
}

function turnOf({ loadMs }: Resident, want: Resident): number {
  return Math.max(LEAST_TURN_MS, TURN_LOADS * Math.max(loadMs, want.loadMs));
}

/** It holds no memory. */
export function isOut(state: EngineState["name"]): boolean {
  return state === "unloaded" || state === "failed" || state === "closed";
}
