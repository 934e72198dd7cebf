import { Counter, type Registry } from "prom-client";
import type { MachineSink } from "../../ledger/machine-time.ts";
import type { MachineAccount } from "../../store/tables/machine-time.ts";

/** Counts the machine's time by what it was used for. */
export class MachineTimeMetrics implements MachineSink {
  readonly #seconds: Counter;

  constructor(registry: Registry) {
    this.#seconds = new Counter({
      name: "nightshift_machine_seconds_total",
      help: "Time of steps and of embedding decodes, divided between the requests in them; the rest of the time is idle",
      labelNames: ["model", "endpoint", "tier"],
      registers: [registry],
    });
  }

  spent({ model, endpoint, tier }: MachineAccount, seconds: number): void {
    this.#seconds.inc({ model, endpoint, tier }, seconds);
  }
}
