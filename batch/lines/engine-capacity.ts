import type { Engine } from "../../engine/engine.ts";
import type { Store } from "../../store/store.ts";
import type { CrashBisection } from "./crash-bisection.ts";

export interface EngineCapacityDeps {
  engine: Engine;
  store: Pick<Store, "state">;
  /** 0..1 of the engine that batch work may use now. */
  share: () => number;
  residency: Residence;
  suspects: Pick<CrashBisection, "dying" | "obstacle" | "engineReady">;
  /** The engine is ready again, or has failed. */
  reopened: () => void;
}

/** Who decides which models are in memory. */
export interface Residence {
  /** Lines wait for a model that is not in memory; to be said again every second as long as they do. */
  want(model: string): void;
  /** An online request needs the memory that this model has: its lines have to leave. */
  recalled(model: string): boolean;
}

/** Sequences' worth of lines that the engine has: as many again wait in it as run, so that it never runs dry. */
const DEPTH = 2;

/** How much of the engine one model's batch lines may have. */
export class EngineCapacity {
  readonly #deps: EngineCapacityDeps;
  #awaitsEngine = false;

  constructor(deps: EngineCapacityDeps) {
    this.#deps = deps;
  }

  /** Why nothing runs although it could; null when nothing is in the way. */
  get obstacle(): string | null {
    const { engine, store, suspects } = this.#deps;
    if (!store.state.writable) return `the store is not writable: ${store.state.reason}`;
    if (engine.state.name === "unloaded") return "the model is not in memory, and waits for its turn";
    if (engine.state.name === "failed") return "the engine has failed";
    if (engine.state.name !== "ready") return `the engine is ${engine.state.name}`;
    return suspects.obstacle;
  }

  /**
   * Lines that may be in the engine now. Of 0, `recheck` says that no event will tell when that changes.
   *
   * @param hungry there may be lines: a model that is not in memory is asked for
   */
  look(hungry: boolean): { lines: number; recheck: boolean } {
    const { engine, share, store, suspects, residency } = this.#deps;
    if (suspects.dying) return { lines: 0, recheck: false };
    if (residency.recalled(engine.model)) return { lines: 0, recheck: true };
    if (engine.state.name === "unloaded" || engine.state.name === "unloading") {
      if (hungry && store.state.writable && share() > 0) residency.want(engine.model);
      return { lines: 0, recheck: true };
    }
    // One that has failed may be tried again, at any time.
    if (engine.state.name === "failed") return { lines: 0, recheck: true };
    if (engine.state.name !== "ready" || engine.facts === null) {
      this.#awaitEngine();
      return { lines: 0, recheck: false };
    }
    const allowed = share();
    if (!store.state.writable || allowed <= 0 || suspects.obstacle !== null) return { lines: 0, recheck: true };
    return { lines: Math.max(1, Math.round(engine.facts.sequences * DEPTH * allowed)), recheck: false };
  }

  #awaitEngine(): void {
    if (this.#awaitsEngine) return;
    this.#awaitsEngine = true;
    this.#deps.engine.ready().then(
      () => {
        this.#awaitsEngine = false;
        this.#deps.suspects.engineReady();
        this.#deps.reopened();
      },
      () => {
        this.#awaitsEngine = false;
        if (this.#deps.engine.state.name === "failed") this.#deps.reopened();
      },
    );
  }
}
