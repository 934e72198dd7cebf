import { Gauge, type Registry } from "prom-client";
import { ENGINE_STATES, type Engine } from "../../engine/engine.ts";
import type { Objectives } from "../../engine/protocol/step.ts";

type WatchedEngine = Pick<Engine, "model" | "state" | "facts" | "objectives">;

/** Adds gauges of the engines, read when the metrics are scraped. */
export function watchEngines(registry: Registry, engines: readonly WatchedEngine[]): void {
  const registers = [registry];
  new Gauge({
    name: "nightshift_engine_state",
    help: "1 for the current state of the engine, 0 for the others",
    labelNames: ["model", "status"],
    registers,
    collect() {
      for (const { model, state } of engines)
        for (const status of ENGINE_STATES) this.set({ model, status }, state.name === status ? 1 : 0);
    },
  });
  new Gauge({
    name: "nightshift_engine_sequences",
    help: "Maximum sequences that run at the same time",
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
  objective(
    "time_to_first_token",
    "Objective for the time to first token: --slo-ttft-ms, or the value that auto derived",
    ({ ttftMs }) => ttftMs,
  );
  objective(
    "inter_token_latency",
    "Objective for the time between two tokens: --slo-itl-ms, or the value that auto derived",
    ({ itlMs }) => itlMs,
  );
}
