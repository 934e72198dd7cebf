import { expect, test } from "vitest";
import { runScheduler } from "../../../../bench/scheduler/long-run.ts";

test("the long run of the scheduler goes over both caches, with cancels and displacement, and again by its seed", () => {
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
