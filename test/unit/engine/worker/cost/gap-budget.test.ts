import { expect, test } from "vitest";
import { GapBudget } from "../../../../../engine/worker/cost/gap-budget.ts";

/** Long gaps that the budget allows in a row; each of two steps, the second with the streams. */
function spent(budget: GapBudget): number {
  let gaps = 0;
  for (; budget.isLeft; gaps++) {
    budget.count(false, 90, 100);
    budget.count(true, 20, 100);
  }
  return gaps;
}

test("sixteen gaps may miss the objective, and sixteen more after a pause of all streams", () => {
  const budget = new GapBudget();
  expect(spent(budget)).toBe(16);
  budget.renew();
  expect(spent(budget)).toBe(16);
});

test("after that one gap of a hundred may, and sixteen after a long time", () => {
  const budget = new GapBudget();
  spent(budget);
  for (let i = 0; i < 80; i++) budget.count(true, 100, 100);
  expect(budget.isLeft).toBe(false);
  for (let i = 0; i < 10; i++) budget.count(true, 100, 100);
  expect(spent(budget)).toBe(1);
  for (let i = 0; i < 10_000; i++) budget.count(true, 100, 100);
  expect(spent(budget)).toBe(16);
});
