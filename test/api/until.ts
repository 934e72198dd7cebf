import { setTimeout as wait } from "node:timers/promises";

/** Long enough for a machine that is five times slower and busy: what is awaited comes sooner or not at all. */
const PATIENCE_MS = 60_000;

/** Polls until the condition holds; rejects when it does not within the time. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms in vain for ${what}`);
    await wait(10);
  }
}
