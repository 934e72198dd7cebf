import { Gauge, type Registry } from "prom-client";
import type { MachinePrice } from "../../ledger/prices.ts";

/** Adds gauges of the machine's price, for dashboards. */
export function showMachinePrice(registry: Registry, { onDemand, spot }: MachinePrice): void {
  const show = (name: string, help: string, value: number | null) => {
    if (value !== null) new Gauge({ name: `nightshift_${name}`, help, registers: [registry] }).set(value);
  };
  show("machine_usd_per_hour", "Value of --machine-usd-per-hour", onDemand);
  show("machine_spot_usd_per_hour", "Value of --machine-spot-usd-per-hour", spot);
}
