import { budgetText, isOnlyHeld, lastToEnd, periodEnd } from "../../ledger/budget.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";

/** Why a batch stands still, in words that stand behind "paused:". */
export function pauseReason(usedUp: readonly BudgetStatus[]): string {
  const standing = lastToEnd(usedUp);
  if (isOnlyHeld(standing))
    return `what batches may take of what is left of ${budgetText(standing)} is held back for what runs`;
  return `${budgetText(standing)} is used up; it goes on at ${periodEnd(standing)}, or when the budget is raised`;
}
