import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";

/** Long enough for a machine that is five times slower and busy: what is awaited comes sooner or not at all. */
const PATIENCE_MS = 60_000;

/** Polls until the condition holds; rejects when it does not in a generous time, which is real also where a test has a clock of its own. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${PATIENCE_MS} ms in vain for ${what}`);
    await wait(10);
  }
}
