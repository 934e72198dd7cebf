import { Gauge, type Registry } from "prom-client";
import { ENGINE_STATES, type Engine } from "../../engine/engine.ts";
import type { Objectives } from "../../engine/protocol/step.ts";

type WatchedEngine = Pick<Engine, "model" | "state" | "facts" | "objectives">;

/** The engines in the registry, as the server sees them when it is asked. */
export function watchEngines(registry: Registry, engines: readonly WatchedEngine[]): void {
  const registers = [registry];
  new Gauge({
    name: "nightshift_engine_state",
    help: "1 for the state that the engine is in, 0 for the others",
    labelNames: ["model", "status"],
    registers,
    collect() {
      for (const { model, state } of engines)
        for (const status of ENGINE_STATES) this.set({ model, status }, state.name === status ? 1 : 0);
    },
  });
  new Gauge({
    name: "nightshift_engine_sequences",
    help: "Most sequences that may run at once",
    labelNames: ["model"],
    registers,
    collect() {
      for (const { model, facts } of engines) if (facts !== null) this.set({ model }, facts.sequences);
    },
  });
  const objective = (name: string, help: string, msOf: (objectives: Objectives) => number) =>
    new Gauge({
      name: `nightshift_objective_${name}_seconds`,
      help,
      labelNames: ["model"],
      registers,
      collect() {
        this.reset();
        for (const { model, objectives } of engines) {
          if (objectives !== null) this.set({ model }, msOf(objectives) / 1000);
        }
      },
    });
  objective("time_to_first_token", "What --slo-ttft-ms asks for, or auto has derived", ({ ttftMs }) => ttftMs);
  objective("inter_token_latency", "What --slo-itl-ms asks for, or auto has derived", ({ itlMs }) => itlMs);
}
