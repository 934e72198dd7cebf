import { MAX_RETRY_AFTER, remainingMs, retryAfterSeconds } from "../../platform/retry-after.ts";
import type { EngineState } from "../engine.ts";
import type { RestartPolicy } from "../restart-policy.ts";

/**
 * Start, restarts and failure of an engine process.
 *
 * A process loads its model and then serves. When it dies, another one starts after a backoff, which doubles with every
 * death and returns to its first value after a minute of serving. Two causes end the restarts: a model that cannot be loaded
 * (the process reports it, or the first two processes die while they load), and too many deaths in a row with no request
 * finished between them. The first cause may pass (memory that another program holds, a disk that is not mounted), so the
 * load is tried again after a backoff of its own; a model that is loaded on demand becomes unloaded then. A model that
 * crashes while it serves stays failed until `load`. Nothing leaves `closed`. A ready model may be unloaded and loaded again;
 * the caller of unload has checked that no request is in flight.
 *
 * | state      | progress | ready  | unloadable | died        | retry  | unload    | load    | close  |
 * |------------|----------|--------|------------|-------------|--------|-----------|---------|--------|
 * | loading    | loading  | ready  | failed     | restarting² | –      | –         | –       | closed |
 * | ready      | –        | –      | –          | restarting⁵ | –      | unloading | –       | closed |
 * | restarting | –        | ready  | –          | restarting⁵ | start¹ | –         | –       | closed |
 * | unloading  | –        | –      | –          | unloaded    | –      | –         | –       | closed |
 * | unloaded   | –        | –      | –          | –           | –      | –         | loading | closed |
 * | failed     | –        | –      | –          | –           | again³ | –         | loading | closed |
 * | closed     | –        | –      | –          | –           | –      | –         | –       | –      |
 *
 * Effects: entering `ready` is `resume`, `restarting` `wait`, `unloading` `stop`, `unloaded` `gone`, `failed` and `closed`
 * `fail`; `load` leads to `load`, and `retry` to `start`.
 *
 * ¹ restarting still, loading when no process was ready since the load began. ² failed at the second death, ⁵ at the fifth in
 * a row. ³ loading, or unloaded for a model on demand; only where a retry was due. `finished` (a request ran to its end)
 * changes no state; it ends the row of deaths.
 */
export interface Lifecycle {
  readonly state: EngineState;
  /** True when a process was ready since the last load began. */
  readonly everReady: boolean;
  /** True for a model that requests have loaded. */
  readonly onDemand: boolean;
  /** Failed loads in a row: the exponent of the backoff after the next one. */
  readonly failedLoads: number;
  /** Since a request last finished, or the engine last served for `healthyMs`. */
  readonly deathsInRow: number;
  /** The exponent of the next backoff; only time of serving resets it. */
  readonly doublings: number;
  /** Start of the running process, or of the next one; in milliseconds, like the fields below. */
  readonly startAt: number;
  readonly readyAt: number;
  readonly lastLoadMs: number;
}

/** Milliseconds of a load, before one was measured. */
const USUAL_LOAD_MS = 5000;

export type LifecycleEvent =
  | { type: "progress"; progress: number }
  | { type: "ready" }
  | { type: "unloadable"; reason: string }
  | { type: "died"; reason: string }
  | { type: "retry" }
  | { type: "finished" }
  | { type: "unload" }
  | { type: "load" }
  | { type: "close" };

/**
 * The caller's action after an event: start a process (again, or for a load); wait `retryInMs` and send `retry`; hand
 * waiting requests to the engine; stop the process; report that it is gone; fail all requests.
 */
export type LifecycleEffect = "start" | "load" | "wait" | "resume" | "stop" | "gone" | "fail" | null;

export interface LifecycleStep {
  life: Lifecycle;
  effect: LifecycleEffect;
}

export function newLifecycle(now: number, first: "loading" | "unloaded" = "loading"): Lifecycle {
  return {
    state: first === "loading" ? { name: "loading", progress: 0 } : { name: "unloaded" },
    everReady: false,
    onDemand: first === "unloaded",
    failedLoads: 0,
    deathsInRow: 0,
    doublings: 0,
    startAt: now,
    readyAt: now,
    lastLoadMs: USUAL_LOAD_MS,
  };
}

/** Pure; `now` in milliseconds of a clock that never goes back. */
export function advance(life: Lifecycle, event: LifecycleEvent, now: number, policy: RestartPolicy): LifecycleStep {
  const state = life.state.name;
  if (event.type === "finished") {
    return { life: life.deathsInRow === 0 ? life : { ...life, deathsInRow: 0 }, effect: null };
  }
  if (state === "closed") return { life, effect: null };
  if (event.type === "close") return { life: { ...life, state: { name: "closed" } }, effect: "fail" };

  switch (event.type) {
    case "progress":
      if (life.state.name !== "loading") return { life, effect: null };
      return { life: { ...life, state: { ...life.state, progress: event.progress } }, effect: null };
    case "ready":
      if (state !== "loading" && state !== "restarting") return { life, effect: null };
      return {
        life: {
          ...life,
          state: { name: "ready" },
          everReady: true,
          failedLoads: 0,
          readyAt: now,
          lastLoadMs: now - life.startAt,
        },
        effect: "resume",
      };
    case "retry": {
      if (life.state.name === "failed" && life.state.retryInMs !== undefined) {
        return life.onDemand ? { life: { ...life, state: { name: "unloaded" } }, effect: null } : load(life, now);
      }
      if (state !== "restarting") return { life, effect: null };
      const next: EngineState = life.everReady ? life.state : { name: "loading", progress: 0 };
      return { life: { ...life, state: next, startAt: now }, effect: "start" };
    }
    case "unloadable":
      // While it restarts, the death that follows decides.
      return state === "loading" ? failToLoad(life, event.reason, now, policy) : { life, effect: null };
    case "unload":
      if (state !== "ready") return { life, effect: null };
      return { life: { ...life, state: { name: "unloading" }, deathsInRow: 0, doublings: 0 }, effect: "stop" };
    case "load":
      if (state === "failed") return load(life, now);
      return state === "unloaded" ? load({ ...life, onDemand: true }, now) : { life, effect: null };
    case "died":
      if (state === "unloaded" || state === "failed") return { life, effect: null };
      if (state === "unloading") return { life: { ...life, state: { name: "unloaded" } }, effect: "gone" };
      return died(life, event.reason, now, policy);
  }
}

function died(life: Lifecycle, reason: string, now: number, policy: RestartPolicy): LifecycleStep {
  const healed = life.state.name === "ready" && now - life.readyAt >= policy.healthyMs;
  const deathsInRow = (healed ? 0 : life.deathsInRow) + 1;
  const doublings = healed ? 0 : life.doublings;
  if (!life.everReady && deathsInRow >= policy.maxLoads) {
    return failToLoad(life, `The engine died ${deathsInRow} times while it loaded the model. ${reason}`, now, policy);
  }
  if (deathsInRow >= policy.maxDeaths) {
    const why = `The engine died ${deathsInRow} times in a row. ${reason}`;
    if (life.state.name !== "ready") return failToLoad(life, why, now, policy);
    return { life: { ...life, state: { name: "failed", reason: why } }, effect: "fail" };
  }
  const retryInMs = Math.min(policy.capMs, policy.firstMs * 2 ** doublings);
  return {
    life: {
      ...life,
      state: { name: "restarting", reason, retryInMs },
      deathsInRow,
      doublings: doublings + 1,
      startAt: now + retryInMs,
    },
    effect: "wait",
  };
}

/** Earlier deaths no longer count; failed loads do. */
function load(life: Lifecycle, now: number): LifecycleStep {
  const state: EngineState = { name: "loading", progress: 0, ...(life.onDemand && { onDemand: true }) };
  return { life: { ...life, state, everReady: false, deathsInRow: 0, doublings: 0, startAt: now }, effect: "load" };
}

function failToLoad(life: Lifecycle, reason: string, now: number, policy: RestartPolicy): LifecycleStep {
  const retryInMs = Math.min(policy.capReloadMs, policy.firstReloadMs * 2 ** life.failedLoads);
  return {
    life: {
      ...life,
      state: { name: "failed", reason, retryInMs },
      failedLoads: life.failedLoads + 1,
      startAt: now + retryInMs,
    },
    effect: "fail",
  };
}

/** Seconds for Retry-After until the engine should serve again: the rest of the backoff, and as long as the last load took. */
export function retryAfter(life: Lifecycle, now: number): number {
  const { state } = life;
  if (state.name === "failed" && state.retryInMs === undefined) return MAX_RETRY_AFTER;
  // The load of an unloaded model begins now at the earliest.
  const startAt = state.name === "unloaded" || state.name === "unloading" ? now : life.startAt;
  const left = state.name === "loading" ? remainingMs(now - startAt, state.progress) : null;
  return retryAfterSeconds(left ?? startAt + life.lastLoadMs - now);
}
