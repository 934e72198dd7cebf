import { Gauge, type Registry } from "prom-client";
import type { MachinePrice } from "../../ledger/prices.ts";

/** What dashboards draw beside measurements: what the machine costs. */
export function showMachinePrice(registry: Registry, { onDemand, spot }: MachinePrice): void {
  const show = (name: string, help: string, value: number | null) => {
    if (value !== null) new Gauge({ name: `nightshift_${name}`, help, registers: [registry] }).set(value);
  };
  show("machine_usd_per_hour", "What --machine-usd-per-hour says", onDemand);
  show("machine_spot_usd_per_hour", "What --machine-spot-usd-per-hour says", spot);
}
