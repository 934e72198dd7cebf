import { setTimeout as wait } from "node:timers/promises";

/** Asks again and again until the condition holds; rejects when it does not within the time. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms in vain for ${what}`);
    await wait(10);
  }
}
