import type { Engine } from "../../engine/engine.ts";
import type { Store } from "../../store/store.ts";
import type { CrashBisection } from "./crash-bisection.ts";

export interface EngineCapacityDeps {
  engine: Engine;
  store: Pick<Store, "state">;
  /** 0..1 of the engine that batch work may use now. */
  share: () => number;
  residency: Residence;
  bisection: Pick<CrashBisection, "dying" | "obstacle" | "engineReady">;
  /** The engine is ready again, or has failed. */
  reopened: () => void;
}

/** The part of the server that decides which models are in memory. */
export interface Residence {
  /** Lines wait for a model that is not in memory; to be called every second while they do. */
  want(model: string): void;
  /** True while an online request needs the memory of this model: its lines have to leave the engine. */
  recalled(model: string): boolean;
}

/** Lines in the engine for each of its sequences: as many wait in it as run, so that no sequence is ever idle. */
const DEPTH = 2;

/** The number of one model's batch lines that may be in its engine. */
export class EngineCapacity {
  readonly #deps: EngineCapacityDeps;
  #awaitsEngine = false;

  constructor(deps: EngineCapacityDeps) {
    this.#deps = deps;
  }

  /** Reason that no line runs although the shift allows it; null when nothing prevents it. */
  get obstacle(): string | null {
    const { engine, store, bisection } = this.#deps;
    if (!store.state.writable) return `the store is not writable: ${store.state.reason}`;
    if (engine.state.name === "unloaded") return "the model is not in memory, and waits to be loaded";
    if (engine.state.name === "failed")
      return engine.state.upstream === undefined ? "the engine has failed" : engine.state.reason;
    if (engine.state.name !== "ready") return `the engine is ${engine.state.name}`;
    return bisection.obstacle;
  }

  /**
   * Lines that may be in the engine now. `recheck` is true where no event will follow when that changes.
   *
   * @param mayHaveLines true has a model that is not in memory loaded
   */
  look(mayHaveLines: boolean): { lines: number; recheck: boolean } {
    const { engine, share, store, bisection, residency } = this.#deps;
    if (bisection.dying) return { lines: 0, recheck: false };
    if (residency.recalled(engine.model)) return { lines: 0, recheck: true };
    if (engine.state.name === "unloaded" || engine.state.name === "unloading") {
      if (mayHaveLines && store.state.writable && share() > 0) residency.want(engine.model);
      return { lines: 0, recheck: true };
    }
    // A failed engine may be started again at any time.
    if (engine.state.name === "failed") return { lines: 0, recheck: true };
    if (engine.state.name !== "ready" || engine.facts === null) {
      this.#awaitEngine();
      return { lines: 0, recheck: false };
    }
    const allowed = share();
    if (!store.state.writable || allowed <= 0 || bisection.obstacle !== null) return { lines: 0, recheck: true };
    return { lines: Math.max(1, Math.round(engine.facts.sequences * DEPTH * allowed)), recheck: false };
  }

  #awaitEngine(): void {
    if (this.#awaitsEngine) return;
    this.#awaitsEngine = true;
    this.#deps.engine.ready().then(
      () => {
        this.#awaitsEngine = false;
        this.#deps.bisection.engineReady();
        this.#deps.reopened();
      },
      () => {
        this.#awaitsEngine = false;
        if (this.#deps.engine.state.name === "failed") this.#deps.reopened();
      },
    );
  }
}
