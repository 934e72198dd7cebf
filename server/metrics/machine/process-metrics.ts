import { Counter, collectDefaultMetrics, Gauge, type Registry } from "prom-client";
import { watchLoopDelay } from "./loop-delay.ts";

/**
 * Adds the series of the server process (CPU, memory, event-loop delay). Three kinds of prom-client's series are left out:
 * those with other labels than model, endpoint, tier and status (heap space, kind of garbage collection), gauges named like
 * counters, and the event-loop lag, which each scrape resets for all others.
 * @param dropped log lines that were dropped since the start
 */
export function collectProcessMetrics(registry: Registry, dropped: () => number): void {
  collectDefaultMetrics({ register: registry, prefix: "nightshift_" });
  for (const metric of registry.getMetricsAsArray()) {
    const left = LEFT_OUT.some((name) => metric.name.startsWith(`nightshift_nodejs_${name}`));
    if (left) registry.removeSingleMetric(metric.name);
  }
  watchLoopDelay(registry, () => performance.now());
  new Gauge({
    name: "nightshift_nodejs_active_resources",
    help: "Handles, requests and timers that keep the event loop alive",
    registers: [registry],
    collect() {
      this.set(process.getActiveResourcesInfo().length);
    },
  });
  new Counter({
    name: "nightshift_log_lines_dropped_total",
    help: "Log lines dropped because the log was not read",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(dropped());
    },
  });
}

/** Prefixes of the names that are left out. */
const LEFT_OUT = [
  "active_resources",
  "active_handles",
  "active_requests",
  "gc_duration_seconds",
  "eventloop_lag",
  "heap_space_size",
  "version_info",
];
