import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";

/** Milliseconds; enough for a busy machine that is five times slower. */
const PATIENCE_MS = 300_000;

/** Each poll costs time of the server under test, so the intervals grow. */
const LOOKS_MS = { first: 10, last: 50, growth: 1.2 };

/** Polls until the condition holds; rejects after a generous real time, also where a test has a fake clock. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  let pause = LOOKS_MS.first;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${PATIENCE_MS} ms in vain for ${what}`);
    await wait(pause);
    pause = Math.min(pause * LOOKS_MS.growth, LOOKS_MS.last);
  }
}
