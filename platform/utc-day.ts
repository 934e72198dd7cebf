const DAY_MS = 86_400_000;

/** Days since 1970 (UTC), the unit of budgets. */
export function dayOf(epochMs: number): number {
  return Math.floor(epochMs / DAY_MS);
}

/** Unix seconds of the day's start. */
export function startOfDay(day: number): number {
  return (day * DAY_MS) / 1000;
}

/** The first day of a day's month, and of the next month. */
export function monthOf(day: number): { first: number; next: number } {
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { first: dayOf(Date.UTC(year, month, 1)), next: dayOf(Date.UTC(year, month + 1, 1)) };
}
