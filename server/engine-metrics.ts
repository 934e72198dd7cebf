import { Gauge, type Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";

/** The engines in the registry, as the server sees them when it is asked. */
export function watchEngines(registry: Registry, engines: readonly Pick<Engine, "model" | "state" | "facts">[]): void {
  const registers = [registry];
  new Gauge({
    name: "nightshift_engine_ready",
    help: "1 while the model is loaded and serves, else 0",
    labelNames: ["model"],
    registers,
    collect() {
      for (const { model, state } of engines) this.set({ model }, state.name === "ready" ? 1 : 0);
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
}
