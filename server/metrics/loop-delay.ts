import { Histogram, type Registry } from "prom-client";

/** Seconds. The least is below what a timer's own grain is, the most is longer than any stream's client is patient. */
const BUCKETS = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10];
const PERIOD_MS = 20;

/**
 * Measures how late the event loop's turns are: by so much a timer is past its time. A histogram, which only grows, so that
 * no scraper takes from another what it reads, and one long standstill among thousands of short turns shows in its bucket.
 */
export function watchLoopDelay(registry: Registry, now: () => number): void {
  const delays = new Histogram({
    name: "nightshift_event_loop_delay_seconds",
    help: "How late the server's event loop was, every 20 ms; one standstill is one observation",
    buckets: BUCKETS,
    registers: [registry],
  });
  let last = now();
  setInterval(() => {
    const at = now();
    delays.observe(Math.max(0, at - last - PERIOD_MS) / 1000);
    last = at;
  }, PERIOD_MS).unref();
}
