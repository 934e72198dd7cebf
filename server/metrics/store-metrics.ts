import { Counter, Gauge, type Registry } from "prom-client";
import type { Store } from "../../store/store.ts";
import { STORE_ERROR_CODES } from "../../store/types/store-error.ts";

/** The store in the registry: near one busy second per second, its thread is what everything durable waits for. */
export function watchStore(registry: Registry, store: Pick<Store, "busyMs" | "failures" | "state">): void {
  const registers = [registry];
  new Counter({
    name: "nightshift_store_busy_seconds_total",
    help: "Time that the store's thread worked or waited for the disk",
    registers,
    collect() {
      this.reset();
      this.inc(store.busyMs() / 1000);
    },
  });
  new Counter({
    name: "nightshift_store_errors_total",
    help: "Operations that the store refused or failed at, by the error's code",
    labelNames: ["status"],
    registers,
    collect() {
      this.reset();
      for (const status of STORE_ERROR_CODES) this.inc({ status }, store.failures().get(status) ?? 0);
    },
  });
  new Gauge({
    name: "nightshift_store_writable",
    help: "1 as long as writes reach the disk, else 0",
    registers,
    collect() {
      this.set(store.state.writable ? 1 : 0);
    },
  });
}
