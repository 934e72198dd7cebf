import { Counter, Gauge, type Registry } from "prom-client";
import type { Store } from "../../store/store.ts";
import { STORE_ERROR_CODES } from "../../store/types/store-error.ts";

/** Adds metrics of the store. Its thread is the bottleneck of every durable write when it is busy nearly all of the time. */
export function watchStore(registry: Registry, store: Pick<Store, "busyMs" | "failures" | "state">): void {
  const registers = [registry];
  new Counter({
    name: "nightshift_store_busy_seconds_total",
    help: "Time in which the store's thread worked or waited for the disk",
    registers,
    collect() {
      this.reset();
      this.inc(store.busyMs() / 1000);
    },
  });
  new Counter({
    name: "nightshift_store_errors_total",
    help: "Failed operations of the store, by error code",
    labelNames: ["status"],
    registers,
    collect() {
      this.reset();
      for (const status of STORE_ERROR_CODES) this.inc({ status }, store.failures().get(status) ?? 0);
    },
  });
  new Gauge({
    name: "nightshift_store_writable",
    help: "1 while writes reach the disk, else 0",
    registers,
    collect() {
      this.set(store.state.writable ? 1 : 0);
    },
  });
}
