import { Counter, collectDefaultMetrics, type Registry } from "prom-client";

/**
 * Adds the process's own series (CPU, memory, event-loop delay) under the prefix. Those that prom-client labels by heap
 * space, kind of garbage collection and the like are left out: labels stay model, endpoint, tier and status.
 * @param dropped log lines that nobody read in time, since the start
 */
export function collectProcessMetrics(registry: Registry, dropped: () => number): void {
  collectDefaultMetrics({ register: registry, prefix: "nightshift_" });
  for (const metric of registry.getMetricsAsArray()) {
    const labelled = LABELLED.some((name) => metric.name === `nightshift_nodejs_${name}`);
    if (labelled) registry.removeSingleMetric(metric.name);
  }
  new Counter({
    name: "nightshift_log_lines_dropped_total",
    help: "Log lines dropped because nobody read the log",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(dropped());
    },
  });
}

const LABELLED = [
  "active_resources",
  "active_handles",
  "active_requests",
  "gc_duration_seconds",
  "heap_space_size_total_bytes",
  "heap_space_size_used_bytes",
  "heap_space_size_available_bytes",
  "version_info",
];
