import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";

/** Long enough for a machine that is five times slower and busy: what is awaited comes sooner or not at all. */
const PATIENCE_MS = 100_000;

/** Each look costs a server under test time of its own, so looks grow rarer. */
const LOOKS_MS = { first: 10, last: 50, growth: 1.2 };

/** Polls until the condition holds; rejects when it does not in a generous time, which is real also where a test has a clock of its own. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  let pause = LOOKS_MS.first;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${PATIENCE_MS} ms in vain for ${what}`);
    await wait(pause);
    pause = Math.min(pause * LOOKS_MS.growth, LOOKS_MS.last);
  }
}
