import type { Database } from "better-sqlite3";
import { monthOf } from "../../platform/utc-day.ts";
import { type BudgetScope, type BudgetStatus, RESERVATION, type ReservationRow } from "../types/budget-row.ts";

interface BudgetColumns {
  dailyNano: number | null;
  monthlyNano: number | null;
  softRatio: number | null;
}

/** The status of every budget that a request of this owner and key draws on: none to four. */
export type BudgetStatuses = (payer: { owner: string; keyId: string | null; day: number }) => BudgetStatus[];

export function budgetStatusesOf(db: Database): BudgetStatuses {
  const keyBudget = db.prepare<{ subject: string }, BudgetColumns>(
    `SELECT daily_nano AS dailyNano, monthly_nano AS monthlyNano, soft_ratio AS softRatio FROM keys WHERE id = @subject`,
  );
  const ownerBudget = db.prepare<{ subject: string }, BudgetColumns>(
    `SELECT daily_nano AS dailyNano, monthly_nano AS monthlyNano, soft_ratio AS softRatio FROM owners
     WHERE owner = @subject`,
  );
  const spent = db.prepare<{ scope: BudgetScope; subject: string; first: number; next: number }, { nano: number }>(
    `SELECT coalesce(sum(nano), 0) AS nano FROM spending
     WHERE scope = @scope AND subject = @subject AND day >= @first AND day < @next`,
  );
  const held = db.prepare<{ owner: string; keyId: string | null; first: number; next: number }, { nano: number }>(
    `SELECT coalesce(sum(nano), 0) AS nano FROM reservations
     WHERE owner = @owner AND (@keyId IS NULL OR key_id = @keyId) AND day >= @first AND day < @next`,
  );

  return ({ owner, keyId, day }) => {
    const month = monthOf(day);
    const statuses: BudgetStatus[] = [];
    const add = (scope: BudgetScope, subject: string, budget: BudgetColumns | undefined) => {
      if (budget === undefined) return;
      const periods = [
        { period: "daily", limitNano: budget.dailyNano, first: day, next: day + 1 },
        { period: "monthly", limitNano: budget.monthlyNano, ...month },
      ] as const;
      for (const { period, limitNano, first, next } of periods) {
        if (limitNano === null) continue;
        const { softRatio } = budget;
        const spentNano = spent.get({ scope, subject, first, next })?.nano ?? 0;
        const heldNano = held.get({ owner, keyId: scope === "key" ? subject : null, first, next })?.nano ?? 0;
        statuses.push({
          scope,
          subject,
          period,
          firstDay: first,
          nextDay: next,
          limitNano,
          softRatio,
          spentNano,
          heldNano,
        });
      }
    };
    if (keyId !== null) add("key", keyId, keyBudget.get({ subject: keyId }));
    add("owner", owner, ownerBudget.get({ subject: owner }));
    return statuses;
  };
}

/** True when the rest of a budget is spent or reserved. */
export function isUsedUp({ limitNano, spentNano, heldNano }: BudgetStatus): boolean {
  return spentNano + heldNano >= limitNano;
}

/** Reserves and releases money. Other tables use it within their operations. */
export function reservationsOf(db: Database) {
  const insert = db.prepare<ReservationRow>(
    `INSERT INTO reservations (${RESERVATION.names}) VALUES (${RESERVATION.values})`,
  );
  const ofLines = db.prepare<{ owner: string; keyId: string | null; first: number; next: number }, { nano: number }>(
    `SELECT coalesce(sum(nano), 0) AS nano FROM reservations
     WHERE owner = @owner AND (@keyId IS NULL OR key_id = @keyId) AND day >= @first AND day < @next
       AND instr(id, '/') > 0`,
  );
  const remove = db.prepare<{ id: string }, { day: number }>("DELETE FROM reservations WHERE id = @id RETURNING day");
  return {
    hold: (row: ReservationRow): void => void insert.run(row),
    /** Reservations of batch lines against a budget. */
    ofLines(owner: string, { scope, subject, firstDay, nextDay }: BudgetStatus): number {
      const keyId = scope === "key" ? subject : null;
      return ofLines.get({ owner, keyId, first: firstDay, next: nextDay })?.nano ?? 0;
    },
    /** Releases a reservation. Returns the day that it counted against; null for an unknown one. */
    free: (id: string): number | null => remove.get({ id })?.day ?? null,
  };
}

/** Reservation id of a line. The slash distinguishes it from a request's. */
export function lineReservation(batchId: string, line: number): string {
  return `${batchId}/${line}`;
}
