import { Random } from "../base/random.ts";
import { randomCrowd, randomHouse } from "./crowd.ts";
import { prove } from "./proof.ts";

/** What runs over caches of one kind came to. */
export interface SchedulerRun {
  kind: "split" | "unified";
  crowds: number;
  steps: number;
  requests: number;
  cancelled: number;
  /** Sequences that gave their place up, and went on later. */
  displaced: number;
  /** Cells that came back from host memory. */
  returned: number;
}

export const SCHEDULER_HEAD = [
  "cache",
  "crowds",
  "steps",
  "requests",
  "cancelled",
  "displaced",
  "cells from host memory",
];

/**
 * The engine's scheduler and caches over a memory that proves every step, with one random crowd after the other, until
 * there were so many steps.
 *
 * @throws Error with the crowd and the invariant that it broke
 */
export function runScheduler(steps: number, seed: number, progress: (done: number) => void): SchedulerRun[] {
  const runs: SchedulerRun[] = (["split", "unified"] as const).map((kind) => ({
    ...{ kind, crowds: 0, steps: 0, requests: 0, cancelled: 0, displaced: 0, returned: 0 },
  }));
  let done = 0;
  for (let crowd = 0; done < steps; crowd++) {
    const run = runs[crowd % runs.length]!;
    const random = new Random(seed, crowd);
    const house = randomHouse(random, run.kind);
    const arrivals = randomCrowd(random);
    try {
      const simulation = prove(house, arrivals);
      run.crowds++;
      run.steps += simulation.steps;
      run.requests += arrivals.length;
      run.cancelled += arrivals.length - simulation.ended.length;
      run.displaced += simulation.preempted;
      run.returned += simulation.memory.loaded;
      done += simulation.steps;
    } catch (error) {
      const what = error instanceof Error ? error.stack : String(error);
      throw new Error(`Crowd ${crowd} of seed ${seed}: ${what}\n${JSON.stringify({ house, arrivals })}`, {
        cause: error,
      });
    }
    if (crowd % 1000 === 999) progress(done);
  }
  return runs;
}

export function schedulerRows(runs: readonly SchedulerRun[]): string[][] {
  return runs.map((run) =>
    [run.kind, run.crowds, run.steps, run.requests, run.cancelled, run.displaced, run.returned].map(String),
  );
}
