import { Random } from "../base/random.ts";
import { prove } from "./proof.ts";
import { randomArrivals, randomSetup } from "./random-workload.ts";

/** The totals of all workloads over caches of one kind. */
export interface SchedulerRun {
  kind: "split" | "unified";
  workloads: number;
  steps: number;
  requests: number;
  cancelled: number;
  /** Sequences that were preempted. */
  preempted: number;
  /** Cells that were restored from host memory. */
  restored: number;
}

export const SCHEDULER_HEAD = [
  "cache",
  "workloads",
  "steps",
  "requests",
  "cancelled",
  "preempted",
  "cells from host memory",
];

/**
 * Runs the engine's scheduler and caches over a memory that checks every step, with one random workload after another, until
 * at least `steps` steps have run.
 *
 * @throws Error with the workload and the invariant that it broke
 */
export function runScheduler(steps: number, seed: number, progress: (done: number) => void): SchedulerRun[] {
  const runs: SchedulerRun[] = (["split", "unified"] as const).map((kind) => ({
    ...{ kind, workloads: 0, steps: 0, requests: 0, cancelled: 0, preempted: 0, restored: 0 },
  }));
  let done = 0;
  for (let workload = 0; done < steps; workload++) {
    const run = runs[workload % runs.length]!;
    const random = new Random(seed, workload);
    const setup = randomSetup(random, run.kind);
    const arrivals = randomArrivals(random);
    try {
      const simulation = prove(setup, arrivals);
      run.workloads++;
      run.steps += simulation.steps;
      run.requests += arrivals.length;
      run.cancelled += arrivals.length - simulation.ended.length;
      run.preempted += simulation.preempted;
      run.restored += simulation.memory.loaded;
      done += simulation.steps;
    } catch (error) {
      const what = error instanceof Error ? error.stack : String(error);
      throw new Error(`Workload ${workload} of seed ${seed}: ${what}\n${JSON.stringify({ setup, arrivals })}`, {
        cause: error,
      });
    }
    if (workload % 1000 === 999) progress(done);
  }
  return runs;
}

export function schedulerRows(runs: readonly SchedulerRun[]): string[][] {
  return runs.map((run) =>
    [run.kind, run.workloads, run.steps, run.requests, run.cancelled, run.preempted, run.restored].map(String),
  );
}
