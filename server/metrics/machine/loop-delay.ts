import { Histogram, type Registry } from "prom-client";

/** Upper bounds in seconds: the first is below the resolution of a timer, the last above any usual client timeout. */
const BUCKETS = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10];
const PERIOD_MS = 20;

/**
 * Measures the delay of the event loop, as the delay of a timer. The histogram is never reset, so that several scrapers see
 * the same values, and one long delay among thousands of short ones shows in its bucket.
 */
export function watchLoopDelay(registry: Registry, now: () => number): void {
  const delays = new Histogram({
    name: "nightshift_event_loop_delay_seconds",
    help: "Delay of the server's event loop, measured every 20 ms; one long delay is one observation",
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
