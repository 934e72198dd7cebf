import { budgetText, isOnlyHeld, lastToEnd, periodEnd } from "../../ledger/budget.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";

/** Reason of a batch's pause: a text that follows "paused:". */
export function pauseReason(usedUp: readonly BudgetStatus[]): string {
  const budget = lastToEnd(usedUp);
  if (isOnlyHeld(budget)) return `the rest of ${budgetText(budget)} that batches may use is reserved for running work`;
  return `${budgetText(budget)} is used up; the batch continues at ${periodEnd(budget)}, or when the budget is raised`;
}
