import { Gauge, type Registry } from "prom-client";
import type { MachinePrice } from "../ledger/prices.ts";

export interface Settings {
  ttftMs: number;
  itlMs: number;
  machinePrice: MachinePrice;
}

/** What dashboards draw beside measurements: the objectives, and what the machine costs. */
export function showSettings(registry: Registry, { ttftMs, itlMs, machinePrice }: Settings): void {
  const show = (name: string, help: string, value: number | null) => {
    if (value !== null) new Gauge({ name: `nightshift_${name}`, help, registers: [registry] }).set(value);
  };
  show("objective_time_to_first_token_seconds", "What --slo-ttft-ms asks for", ttftMs / 1000);
  show("objective_inter_token_latency_seconds", "What --slo-itl-ms asks for", itlMs / 1000);
  show("machine_usd_per_hour", "What --machine-usd-per-hour says", machinePrice.onDemand);
  show("machine_spot_usd_per_hour", "What --machine-spot-usd-per-hour says", machinePrice.spot);
}
