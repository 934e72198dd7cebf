import type { Engine } from "../../engine/engine.ts";
import { Waiters } from "../../engine/waiters.ts";
import { OwnerCounts } from "../../platform/owner-counts.ts";
import { holdsNoMemory, planResidency, type Resident } from "./residency-plan.ts";

export interface ResidencyDeps {
  engines: readonly Engine[];
  /** Bytes that all loaded models may take together. */
  budgetOf: () => number;
  /** Milliseconds after its last request until a model is unloaded; null never unloads an idle model. */
  keepAliveMs: number | null;
  /** Bytes of a loaded model. */
  bytesOf: (model: string) => number;
  /** Online requests that wait or run at a model. */
  onlineOf: (model: string) => number;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
}

/** The use of one model. */
interface ModelUse {
  engine: Engine;
  /** Online requests that wait for its load, by owner. */
  waiting: OwnerCounts;
  /** Time of the oldest online request that waits for it; null if none does. */
  waitingSince: number | null;
  lastRequestAt: number;
  batchDemandUntil: number;
  usedAt: number;
  loadAt: number;
  /** Time at which it became ready; null while it is not. */
  readyAt: number | null;
  loadMs: number;
  /** Requests that wait for the end of its drain. */
  drained: Waiters<void>;
}

const LOOK_MS = 250;
/** Milliseconds that a batch demand lasts; a line dispatcher with lines repeats it every second. */
const BATCH_DEMAND_MS = 3000;
/** Milliseconds in which a repeated request counts as waiting since the first one. */
const REQUEST_MEMORY_MS = 60_000;

/** Loads models on demand and unloads idle ones, by the rules of residency-plan.ts. */
export class Residency {
  readonly #deps: ResidencyDeps;
  readonly #models: Map<string, ModelUse>;
  #recalled: readonly string[] = [];
  #draining: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ResidencyDeps) {
    this.#deps = deps;
    this.#models = new Map(deps.engines.map((engine) => [engine.model, newModelUse(engine, deps.now())]));
  }

  /** Adds a model that was found later. */
  add(engine: Engine): void {
    this.#models.set(engine.model, newModelUse(engine, this.#deps.now()));
  }

  /** Without a keep-alive no model is unloaded, so that no timer is needed. */
  start(): void {
    if (this.#deps.keepAliveMs === null) return;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Online requests that wait for the model to be loaded. */
  waitingFor(model: string): Pick<OwnerCounts, "takes" | "total"> {
    return this.#models.get(model)?.waiting ?? new OwnerCounts();
  }

  /** True while the model's batch lines have to leave its engine, and none may start. */
  recalled(model: string): boolean {
    return this.#recalled.includes(model);
  }

  /** True while the model takes no new online requests, because another one is loaded next. */
  drains(model: string): boolean {
    return this.#draining.includes(model);
  }

  /** Other models that hold memory now. */
  holdersBeside(model: string): string[] {
    return [...this.#models].flatMap(([id, { engine }]) =>
      id !== model && !holdsNoMemory(engine.state.name) ? [id] : [],
    );
  }

  /** Records that a batch has lines for a model that is not in memory. */
  want(model: string): void {
    const use = this.#models.get(model);
    if (use !== undefined) use.batchDemandUntil = this.#deps.now() + BATCH_DEMAND_MS;
  }

  /** Loads the model for an owner's request. Resolves when it is ready, has failed, after `boundMs`, and on abort. */
  async untilLoaded(model: string, owner: string, boundMs: number | null, signal: AbortSignal): Promise<void> {
    const use = this.#models.get(model);
    if (use === undefined || signal.aborted) return;
    const ended = new AbortController();
    const abort = () => ended.abort();
    signal.addEventListener("abort", abort, { once: true });
    const timer = boundMs === null ? undefined : setTimeout(abort, boundMs);
    use.waiting.add(owner, 1);
    use.lastRequestAt = this.#deps.now();
    use.waitingSince ??= use.lastRequestAt;
    this.look();
    do {
      if (this.drains(model)) await use.drained.add(ended.signal).catch(() => {});
      else await use.engine.ready(ended.signal).catch(() => {});
    } while (this.drains(model) && !ended.signal.aborted);
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    use.waiting.add(owner, -1);
    use.usedAt = this.#deps.now();
    use.lastRequestAt = use.usedAt;
  }

  /**
   * Unloads a model at a client's request. Does nothing where models stay loaded, and for one that is in use or that requests
   * wait for.
   */
  async unload(model: string): Promise<void> {
    const use = this.#models.get(model);
    if (use === undefined || this.#deps.keepAliveMs === null) return;
    const { engine, waiting } = use;
    if (engine.state.name === "ready" && engine.pending === 0 && waiting.total === 0) await engine.unload();
  }

  /** Milliseconds until a model is unloaded if no request comes; null where it stays loaded. */
  idleUntil(model: string): number | null {
    const { keepAliveMs, now } = this.#deps;
    const use = this.#models.get(model);
    if (use === undefined || keepAliveMs === null) return null;
    const idleMs = use.engine.pending > 0 ? 0 : now() - use.usedAt;
    return Math.max(0, keepAliveMs - idleMs);
  }

  look(): void {
    const now = this.#deps.now();
    const { load, unload, recall, drain } = planResidency(
      [...this.#models].map(([id, use]) => this.#resident(id, use, now)),
      { budget: this.#deps.budgetOf(), keepAliveMs: this.#deps.keepAliveMs },
    );
    this.#recalled = recall;
    this.#draining = drain;
    for (const id of unload) void this.#models.get(id)?.engine.unload();
    for (const id of load) {
      const use = this.#models.get(id);
      if (use === undefined) continue;
      use.loadAt = now;
      use.engine.load();
    }
    for (const [id, { drained }] of this.#models) if (!drain.includes(id)) drained.resolveAll();
  }

  #resident(id: string, use: ModelUse, now: number): Resident {
    const { engine, waiting, batchDemandUntil } = use;
    const { pending } = engine;
    if (pending > 0) use.usedAt = now;
    if (engine.state.name !== "ready") use.readyAt = null;
    else if (use.readyAt === null) {
      use.readyAt = now;
      use.loadMs = now - use.loadAt;
    }
    const served = engine.state.name === "ready" && !this.drains(id);
    const forgotten = waiting.total === 0 && now - use.lastRequestAt > REQUEST_MEMORY_MS;
    if (served || forgotten) use.waitingSince = null;
    return {
      id,
      bytes: this.#deps.bytesOf(id),
      state: engine.state.name,
      pending,
      online: this.#deps.onlineOf(id),
      idleMs: now - use.usedAt,
      demand: waiting.total > 0 ? "online" : batchDemandUntil > now ? "batch" : null,
      waitedMs: use.waitingSince === null ? 0 : now - use.waitingSince,
      readyMs: use.readyAt === null ? 0 : now - use.readyAt,
      loadMs: use.loadMs,
    };
  }
}

function newModelUse(engine: Engine, now: number): ModelUse {
  return {
    engine,
    waiting: new OwnerCounts(),
    waitingSince: null,
    lastRequestAt: now,
    batchDemandUntil: 0,
    usedAt: now,
    loadAt: now,
    readyAt: null,
    loadMs: 0,
    drained: new Waiters(),
  };
}
