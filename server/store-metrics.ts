import { Counter, type Registry } from "prom-client";
import type { Store } from "../store/store.ts";

/** The store in the registry: near one busy second per second, its thread is what everything durable waits for. */
export function watchStore(registry: Registry, store: Pick<Store, "busyMs">): void {
  new Counter({
    name: "nightshift_store_busy_seconds_total",
    help: "Time that the store's thread worked or waited for the disk",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(store.busyMs() / 1000);
    },
  });
}
