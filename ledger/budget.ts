import { ApiError } from "../openapi/api-error.ts";
import { monthOf, startOfDay } from "../platform/utc-day.ts";
import type { BudgetStatus } from "../store/types/budget-row.ts";
import { usdText } from "./prices.ts";

/** Retry-After in seconds of a 429 when the rest of a budget is only reserved: running requests end within seconds. */
const HELD_RETRY_S = 1;

/**
 * Money that the budgets allow to spend until the end of `lastDay`: the current rest, and the whole limit of each
 * period that begins until then. In nano-dollars, infinite without a budget.
 */
export function availableUntil(statuses: readonly BudgetStatus[], lastDay: number): number {
  return statuses.reduce((least, status) => {
    const { limitNano, spentNano, heldNano } = status;
    const left = Math.max(0, limitNano - spentNano - heldNano);
    return Math.min(least, left + limitNano * periodsUntil(status, lastDay));
  }, Number.POSITIVE_INFINITY);
}

/** Periods that begin after the current one, up to `lastDay`. */
function periodsUntil({ period, nextDay }: BudgetStatus, lastDay: number): number {
  if (period === "daily") return Math.max(0, lastDay - nextDay + 1);
  let periods = 0;
  for (let day = nextDay; day <= lastDay; day = monthOf(day).next) periods++;
  return periods;
}

/** True when the rest of the budget is only reserved, so that neither a new period nor a higher budget is needed. */
export function isOnlyHeld({ limitNano, spentNano }: BudgetStatus): boolean {
  return spentNano < limitNano;
}

/** The budget that blocks the longest: the one whose period ends last. */
export function lastToEnd(statuses: readonly BudgetStatus[]): BudgetStatus {
  return statuses.reduce((last, one) => (rank(one) > rank(last) ? one : last));
}

function rank(status: BudgetStatus): number {
  return isOnlyHeld(status) ? 0 : status.nextDay;
}

/** For example "the key's daily budget of 1.5 USD". */
export function budgetText({ scope, period, limitNano }: BudgetStatus): string {
  return `the ${scope}'s ${period} budget of ${usdText(limitNano).replace(/\.?0+$/, "")} USD`;
}

/** Start of the next period, as "2026-11-22T00:00:00Z". */
export function periodEnd({ nextDay }: BudgetStatus): string {
  return new Date(startOfDay(nextDay) * 1000).toISOString().replace(".000", "");
}

/** Error of a request whose budgets are used up. */
export function insufficientQuota(usedUp: readonly BudgetStatus[]): ApiError {
  const status = lastToEnd(usedUp);
  const budget = budgetText(status);
  if (isOnlyHeld(status)) {
    const message = `The rest of ${budget} is reserved for running requests. Try again when they have ended.`;
    return new ApiError("insufficient_quota", message, { retryAfter: HELD_RETRY_S });
  }
  const message = `You have used up ${budget}. It is renewed at ${periodEnd(status)}.`;
  return new ApiError("insufficient_quota", message);
}

/** Header text of budgets past their soft ratio, reservations included: `key-daily=0.912`. Null for none. */
export function warningHeader(statuses: readonly BudgetStatus[]): string | null {
  const past = statuses.filter(({ softRatio, limitNano, spentNano, heldNano }) => {
    return softRatio !== null && spentNano + heldNano >= softRatio * limitNano;
  });
  if (past.length === 0) return null;
  return past.map((status) => `${status.scope}-${status.period}=${used(status).toFixed(3)}`).join(", ");
}

/** Used fraction; 1 for a budget of zero. */
function used({ limitNano, spentNano, heldNano }: BudgetStatus): number {
  return limitNano === 0 ? 1 : (spentNano + heldNano) / limitNano;
}
