import { Waiters } from "../../engine/client/waiters.ts";
import type { Engine } from "../../engine/engine.ts";
import { OwnerCounts } from "../../platform/owner-counts.ts";
import { isOut, planResidency, type Resident } from "./residency-plan.ts";

export interface ResidencyDeps {
  engines: readonly Engine[];
  /** Bytes that loaded models may take together. */
  budgetOf: () => number;
  /** How long a model may be idle before it is unloaded, in milliseconds; null is for ever. */
  keepAliveMs: number | null;
  /** What a model takes when it is loaded, in bytes. */
  bytesOf: (model: string) => number;
  /** Online requests that a model has. */
  onlineOf: (model: string) => number;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
}

interface Standing {
  engine: Engine;
  /** Online requests that wait for it to be loaded. */
  sleepers: OwnerCounts;
  /** Since when it has been asked for in vain; null when it was not. */
  askedAt: number | null;
  lastAskAt: number;
  batchWantsUntil: number;
  usedAt: number;
  loadAt: number;
  /** Null while it is not ready. */
  readyAt: number | null;
  loadMs: number;
  /** Requests that wait until it is drained no more: it left, or may stay. */
  drained: Waiters<void>;
}

const LOOK_MS = 250;
/** A lane that has lines says so every second. */
const BATCH_WANT_MS = 3000;
/** Clients that gave up and come back within this time have waited since their first try. */
const ASK_MEMORY_MS = 60_000;

/** Brings models into memory when they are asked for and lets idle ones go, by the rules of residency-plan.ts. */
export class Residency {
  readonly #deps: ResidencyDeps;
  readonly #standings: ReadonlyMap<string, Standing>;
  #recalled: readonly string[] = [];
  #draining: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ResidencyDeps) {
    this.#deps = deps;
    this.#standings = new Map(deps.engines.map((engine) => [engine.model, newStanding(engine, deps.now())]));
  }

  /** Without a keep-alive nothing is ever unloaded, and there is nothing to look after. */
  start(): void {
    if (this.#deps.keepAliveMs === null) return;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Online requests that wait for the model. */
  sleepersOf(model: string): Pick<OwnerCounts, "takes" | "total"> {
    return this.#standings.get(model)?.sleepers ?? new OwnerCounts();
  }

  /** The model's batch lines have to leave its engine, and none may start. */
  recalled(model: string): boolean {
    return this.#recalled.includes(model);
  }

  /** The model takes no new online requests: another one has its turn next. */
  drains(model: string): boolean {
    return this.#draining.includes(model);
  }

  /** Other models that have memory now. */
  holdersBeside(model: string): string[] {
    return [...this.#standings].flatMap(([id, { engine }]) => (id !== model && !isOut(engine.state.name) ? [id] : []));
  }

  /** A batch has lines for a model that is not in memory. */
  want(model: string): void {
    const standing = this.#standings.get(model);
    if (standing !== undefined) standing.batchWantsUntil = this.#deps.now() + BATCH_WANT_MS;
  }

  /** Has the model loaded for an owner's request; resolves when it is ready, can't be, has not been within `boundMs`, or on abort. */
  async awake(model: string, owner: string, boundMs: number | null, signal: AbortSignal): Promise<void> {
    const standing = this.#standings.get(model);
    if (standing === undefined || signal.aborted) return;
    const enough = new AbortController();
    const stop = () => enough.abort();
    signal.addEventListener("abort", stop, { once: true });
    const timer = boundMs === null ? undefined : setTimeout(stop, boundMs);
    standing.sleepers.add(owner, 1);
    standing.lastAskAt = this.#deps.now();
    standing.askedAt ??= standing.lastAskAt;
    this.look();
    do {
      if (this.drains(model)) await standing.drained.add(enough.signal).catch(() => {});
      else await standing.engine.ready(enough.signal).catch(() => {});
    } while (this.drains(model) && !enough.signal.aborted);
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    standing.sleepers.add(owner, -1);
    standing.usedAt = this.#deps.now();
    standing.lastAskAt = standing.usedAt;
  }

  look(): void {
    const now = this.#deps.now();
    const { load, unload, recall, drain } = planResidency(
      [...this.#standings].map(([id, standing]) => this.#resident(id, standing, now)),
      { budget: this.#deps.budgetOf(), keepAliveMs: this.#deps.keepAliveMs },
    );
    this.#recalled = recall;
    this.#draining = drain;
    for (const id of unload) void this.#standings.get(id)?.engine.unload();
    for (const id of load) {
      const standing = this.#standings.get(id);
      if (standing === undefined) continue;
      standing.loadAt = now;
      standing.engine.load();
    }
    for (const [id, { drained }] of this.#standings) if (!drain.includes(id)) drained.resolveAll();
  }

  #resident(id: string, standing: Standing, now: number): Resident {
    const { engine, sleepers, batchWantsUntil } = standing;
    const { pending } = engine;
    if (pending > 0) standing.usedAt = now;
    if (engine.state.name !== "ready") standing.readyAt = null;
    else if (standing.readyAt === null) {
      standing.readyAt = now;
      standing.loadMs = now - standing.loadAt;
    }
    const served = engine.state.name === "ready" && !this.drains(id);
    const forgotten = sleepers.total === 0 && now - standing.lastAskAt > ASK_MEMORY_MS;
    if (served || forgotten) standing.askedAt = null;
    return {
      id,
      bytes: this.#deps.bytesOf(id),
      state: engine.state.name,
      pending,
      online: this.#deps.onlineOf(id),
      idleMs: now - standing.usedAt,
      wanted: sleepers.total > 0 ? "online" : batchWantsUntil > now ? "batch" : null,
      waitedMs: standing.askedAt === null ? 0 : now - standing.askedAt,
      turnMs: standing.readyAt === null ? 0 : now - standing.readyAt,
      loadMs: standing.loadMs,
    };
  }
}

function newStanding(engine: Engine, now: number): Standing {
  return {
    engine,
    sleepers: new OwnerCounts(),
    askedAt: null,
    lastAskAt: now,
    batchWantsUntil: 0,
    usedAt: now,
    loadAt: now,
    readyAt: null,
    loadMs: 0,
    drained: new Waiters(),
  };
}
