import { describe, expect, it } from "vitest";
import { availableUntil, insufficientQuota, warningHeader } from "../../../ledger/budget.ts";
import { dayOf, monthOf, startOfDay } from "../../../platform/utc-day.ts";
import type { BudgetStatus } from "../../../store/types/budget-row.ts";

const TODAY = dayOf(Date.UTC(2026, 10, 21));

function daily(more: Partial<BudgetStatus> = {}): BudgetStatus {
  return {
    scope: "key",
    subject: "key_a",
    period: "daily",
    firstDay: TODAY,
    nextDay: TODAY + 1,
    limitNano: 100,
    softRatio: null,
    spentNano: 0,
    heldNano: 0,
    ...more,
  };
}

function monthly(more: Partial<BudgetStatus> = {}): BudgetStatus {
  const { first: firstDay, next: nextDay } = monthOf(TODAY);
  return daily({ scope: "owner", subject: "team", period: "monthly", firstDay, nextDay, ...more });
}

describe("days and months", () => {
  it("are UTC days and months across a year's end and a leap day", () => {
    expect(startOfDay(TODAY)).toBe(Date.UTC(2026, 10, 21) / 1000);
    expect(dayOf(Date.UTC(2026, 10, 22) - 1)).toBe(TODAY);
    expect(monthOf(dayOf(Date.UTC(2026, 11, 31)))).toEqual({
      first: dayOf(Date.UTC(2026, 11, 1)),
      next: dayOf(Date.UTC(2027, 0, 1)),
    });
    const { first, next } = monthOf(dayOf(Date.UTC(2028, 1, 29)));
    expect(next - first).toBe(29);
  });
});

describe("spending that budgets allow until a day", () => {
  it.each([
    ["without a budget", [], TODAY + 1, Number.POSITIVE_INFINITY],
    ["today", [daily({ spentNano: 30, heldNano: 20 })], TODAY, 50],
    ["until tomorrow", [daily({ spentNano: 30, heldNano: 20 })], TODAY + 1, 150],
    ["when more was spent than there was", [daily({ spentNano: 130 })], TODAY + 2, 200],
    ["of a month that does not end before", [monthly({ spentNano: 30 })], TODAY + 9, 70],
    ["of a month that does", [monthly({ spentNano: 30 })], TODAY + 10, 170],
    ["over two ends of months", [monthly()], TODAY + 45, 300],
    ["by the least of several", [daily(), monthly({ limitNano: 120, spentNano: 40 })], TODAY + 1, 80],
  ])("%s", (_name, statuses, lastDay, nano) => expect(availableUntil(statuses, lastDay)).toBe(nano));
});

describe("a used-up budget", () => {
  it("is reported with its renewal time, the latest of several", () => {
    const spent = [daily({ spentNano: 100 }), monthly({ spentNano: 120 })];
    const { status, type, code, message, shouldRetry, retryAfter } = insufficientQuota(spent);
    expect({ status, type, code, shouldRetry, retryAfter }).toEqual({
      status: 429,
      type: "insufficient_quota",
      code: "insufficient_quota",
      shouldRetry: false,
      retryAfter: undefined,
    });
    expect(message).toBe(
      "You have used up the owner's monthly budget of 0.0000001 USD. It is renewed at 2026-12-01T00:00:00Z.",
    );
  });

  it("allows a retry soon when its rest is only reserved", () => {
    expect(insufficientQuota([daily({ spentNano: 99, heldNano: 1 })])).toMatchObject({
      retryAfter: 1,
      shouldRetry: undefined,
    });
  });
});

describe("the warning header", () => {
  it.each([
    [[daily({ spentNano: 100 })], null],
    [[daily({ softRatio: 0.8, spentNano: 79 })], null],
    [[daily({ softRatio: 0.8, spentNano: 79, heldNano: 1 })], "key-daily=0.800"],
    [
      [daily({ softRatio: 0.5, spentNano: 60 }), monthly({ softRatio: 0.1, spentNano: 11 })],
      "key-daily=0.600, owner-monthly=0.110",
    ],
    [[daily({ softRatio: 0.8, limitNano: 0 })], "key-daily=1.000"],
  ])("%#", (statuses, header) => expect(warningHeader(statuses)).toBe(header));
});
