import { expect, test } from "vitest";
import { NO_TILE } from "../../../../../engine/worker/cost/step-model.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { StepPlanner } from "../../../../../engine/worker/scheduler/step-planner.ts";
import { draftOf, FIT, LIMITS, left, UNBOUNDED } from "./plan-rig.ts";

test("each kind of step is planned at most once, also where both are planned to choose one", () => {
  let drafts = 0;
  const planner = new StepPlanner<Sequence>(LIMITS, () => {
    drafts++;
    return draftOf(FIT, UNBOUNDED, NO_TILE, "consecutive");
  });
  // Batch decodes beside batch prompts: the kinds are compared by the time of their steps.
  const plan = planner.plan([left(1, 0, "batch"), left(100, 1, "batch")], undefined, 0, 1);
  expect(plan.entries.length).toBeGreaterThan(0);
  // One for each kind, and an empty one that tells whether there are kinds.
  expect(drafts).toBe(3);
});
