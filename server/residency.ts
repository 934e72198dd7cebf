import type { Engine } from "../engine/engine.ts";
import { OwnerQueue } from "./owner-queue.ts";
import { planResidency, type Resident } from "./residency-plan.ts";

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
  sleepers: OwnerQueue;
  batchWantsUntil: number;
  usedAt: number;
}

const LOOK_MS = 250;
/** A lane that has lines says so every second. */
const BATCH_WANT_MS = 3000;

/** Brings models into memory when they are asked for and lets idle ones go, by the rules of residency-plan.ts. */
export class Residency {
  readonly #deps: ResidencyDeps;
  readonly #standings: ReadonlyMap<string, Standing>;
  #recalled: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ResidencyDeps) {
    this.#deps = deps;
    const usedAt = deps.now();
    this.#standings = new Map(
      deps.engines.map((engine) => [engine.model, { engine, sleepers: new OwnerQueue(), batchWantsUntil: 0, usedAt }]),
    );
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
  sleepersOf(model: string): Pick<OwnerQueue, "takes" | "total"> {
    return this.#standings.get(model)?.sleepers ?? new OwnerQueue();
  }

  /** The model's batch lines have to leave its engine, and none may start. */
  recalled(model: string): boolean {
    return this.#recalled.includes(model);
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
    this.look();
    await standing.engine.ready(enough.signal).catch(() => {});
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    standing.sleepers.add(owner, -1);
    standing.usedAt = this.#deps.now();
  }

  look(): void {
    const now = this.#deps.now();
    const { load, unload, recall } = planResidency(
      [...this.#standings].map(([id, standing]) => this.#resident(id, standing, now)),
      { budget: this.#deps.budgetOf(), keepAliveMs: this.#deps.keepAliveMs },
    );
    this.#recalled = recall;
    for (const id of unload) void this.#standings.get(id)?.engine.unload();
    for (const id of load) this.#standings.get(id)?.engine.load();
  }

  #resident(id: string, standing: Standing, now: number): Resident {
    const { engine, sleepers, batchWantsUntil } = standing;
    const { pending } = engine;
    if (pending > 0) standing.usedAt = now;
    return {
      id,
      bytes: this.#deps.bytesOf(id),
      state: engine.state.name,
      pending,
      online: this.#deps.onlineOf(id),
      idleMs: now - standing.usedAt,
      wanted: sleepers.total > 0 ? "online" : batchWantsUntil > now ? "batch" : null,
    };
  }
}
