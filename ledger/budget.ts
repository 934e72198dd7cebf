import { ApiError } from "../openapi/api-error.ts";
import { monthOf, startOfDay } from "../platform/utc-day.ts";
import type { BudgetStatus } from "../store/types/budget-row.ts";
import { usdText } from "./prices.ts";

/** What is told with a 429 when money is only held back: requests that run end in seconds. */
const HELD_RETRY_S = 1;

/**
 * What the budgets leave until a day, whose own is still counted: what is left now, and all of each period that begins
 * until then. In nano-dollars, infinite without a budget.
 */
export function availableUntil(statuses: readonly BudgetStatus[], lastDay: number): number {
  return statuses.reduce((least, status) => {
    const { limitNano, spentNano, heldNano } = status;
    const left = Math.max(0, limitNano - spentNano - heldNano);
    return Math.min(least, left + limitNano * periodsUntil(status, lastDay));
  }, Number.POSITIVE_INFINITY);
}

/** Periods that begin after the present one, up to a day. */
function periodsUntil({ period, nextDay }: BudgetStatus, lastDay: number): number {
  if (period === "daily") return Math.max(0, lastDay - nextDay + 1);
  let periods = 0;
  for (let day = nextDay; day <= lastDay; day = monthOf(day).next) periods++;
  return periods;
}

/** Whether only the end of what runs is waited for, and no new period or a higher budget. */
export function isOnlyHeld({ limitNano, spentNano }: BudgetStatus): boolean {
  return spentNano < limitNano;
}

/** Of several the one that ends last holds up for longest. */
export function lastToEnd(statuses: readonly BudgetStatus[]): BudgetStatus {
  return statuses.reduce((last, one) => (rank(one) > rank(last) ? one : last));
}

function rank(status: BudgetStatus): number {
  return isOnlyHeld(status) ? 0 : status.nextDay;
}

/** "the key's daily budget of 1.5 USD" */
export function budgetText({ scope, period, limitNano }: BudgetStatus): string {
  return `the ${scope}'s ${period} budget of ${usdText(limitNano).replace(/\.?0+$/, "")} USD`;
}

/** When a period's successor begins: "2026-11-22T00:00:00Z". */
export function periodEnd({ nextDay }: BudgetStatus): string {
  return new Date(startOfDay(nextDay) * 1000).toISOString().replace(".000", "");
}

/** What a request hears whose budgets have nothing left. */
export function insufficientQuota(usedUp: readonly BudgetStatus[]): ApiError {
  const status = lastToEnd(usedUp);
  const budget = budgetText(status);
  if (isOnlyHeld(status)) {
    const message = `What is left of ${budget} is held back for requests that run. Try again when they have ended.`;
    return new ApiError("insufficient_quota", message, { retryAfter: HELD_RETRY_S });
  }
  const message = `You have used up ${budget}. It begins anew at ${periodEnd(status)}.`;
  return new ApiError("insufficient_quota", message);
}

/** Budgets past their soft ratio, with what is held back, as a header tells them: `key-daily=0.912`. Null for none. */
export function warningHeader(statuses: readonly BudgetStatus[]): string | null {
  const past = statuses.filter(({ softRatio, limitNano, spentNano, heldNano }) => {
    return softRatio !== null && spentNano + heldNano >= softRatio * limitNano;
  });
  if (past.length === 0) return null;
  return past.map((status) => `${status.scope}-${status.period}=${used(status).toFixed(3)}`).join(", ");
}

/** The used share; of a budget of nothing, all. */
function used({ limitNano, spentNano, heldNano }: BudgetStatus): number {
  return limitNano === 0 ? 1 : (spentNano + heldNano) / limitNano;
}
