import { budgetText, isOnlyHeld, lastToEnd, periodEnd } from "../../ledger/budget.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";

/** Reason of a batch's pause: a text that follows "paused:". */
export function pauseReason(usedUp: readonly BudgetStatus[]): string {
  const budget = lastToEnd(usedUp);
  if (isOnlyHeld(budget))
    return `what batches may take of what is left of ${budgetText(budget)} is held back for what runs`;
  return `${budgetText(budget)} is used up; it goes on at ${periodEnd(budget)}, or when the budget is raised`;
}
