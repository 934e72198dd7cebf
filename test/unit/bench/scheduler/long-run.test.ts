import { expect, test } from "vitest";
import { runScheduler } from "../../../../bench/scheduler/long-run.ts";

test("a long run covers both caches, cancellation and preemption, and repeats by its seed", () => {
  const runs = runScheduler(3000, 7, () => {});
  expect(runs.map(({ kind }) => kind)).toEqual(["split", "unified"]);
  for (const { steps, cancelled, preempted } of runs) {
    expect(steps).toBeGreaterThan(500);
    expect(cancelled).toBeGreaterThan(0);
    expect(preempted).toBeGreaterThan(0);
  }
  expect(runScheduler(3000, 7, () => {})).toEqual(runs);
  expect(runScheduler(3000, 8, () => {})).not.toEqual(runs);
});
