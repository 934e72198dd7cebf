import type { Database } from "better-sqlite3";
import { monthOf } from "../../platform/utc-day.ts";
import {
  type BudgetPeriod,
  type BudgetScope,
  type BudgetStatus,
  OWNER,
  type OwnerRow,
  type ReservationRow,
} from "../types/budget-row.ts";
import { eventInsertion, type NewEvent } from "./outbox.ts";
import { budgetStatusesOf, isUsedUp, reservationsOf } from "./reservations.ts";

/** Result of `reserve`. "used_up": nothing was reserved, because these budgets have nothing left. */
export type Reservation =
  | { outcome: "reserved"; statuses: BudgetStatus[] }
  | { outcome: "used_up"; statuses: BudgetStatus[] };

/** A budget in one of its periods. */
export interface Warning {
  scope: BudgetScope;
  subject: string;
  period: BudgetPeriod;
  firstDay: number;
}

/** Budgets, spending, and reservations of running requests. */
export function budgets(db: Database) {
  const statuses = budgetStatusesOf(db);
  const reservations = reservationsOf(db);
  const insertEvents = eventInsertion(db);
  const spent = db.prepare<{ owner: string; first: number; next: number }, { nano: number }>(
    `SELECT coalesce(sum(nano), 0) AS nano FROM spending
     WHERE scope = 'owner' AND subject = @owner AND day >= @first AND day < @next`,
  );
  const held = db.prepare<{ owner: string }, { nano: number }>(
    "SELECT coalesce(sum(nano), 0) AS nano FROM reservations WHERE owner = @owner",
  );
  const owners = db.prepare<[], OwnerRow>(`SELECT ${OWNER.select} FROM owners ORDER BY owner`);
  const setOwner = db.prepare<OwnerRow>(
    `INSERT INTO owners (${OWNER.names}) VALUES (${OWNER.values})
     ON CONFLICT (owner) DO UPDATE SET daily_nano = excluded.daily_nano, monthly_nano = excluded.monthly_nano,
       soft_ratio = excluded.soft_ratio`,
  );
  const adjust = db.prepare<{ id: string; nano: number }>("UPDATE reservations SET nano = @nano WHERE id = @id");
  const warned = db.prepare<Warning, { was: number }>(
    `SELECT 1 AS was FROM budget_warnings
     WHERE scope = @scope AND subject = @subject AND period = @period AND first_day = @firstDay`,
  );
  const warn = db.prepare<Warning>(
    `INSERT INTO budget_warnings (scope, subject, period, first_day) VALUES (@scope, @subject, @period, @firstDay)
     ON CONFLICT DO NOTHING`,
  );
  const forgetWarnings = db.prepare<{ before: number }>("DELETE FROM budget_warnings WHERE first_day < @before");
  const payers = db.prepare<[], { owner: string; keyId: string | null }>(
    `SELECT owner, id AS keyId FROM keys WHERE soft_ratio IS NOT NULL AND revoked_at IS NULL
     UNION SELECT owner, NULL FROM owners WHERE soft_ratio IS NOT NULL`,
  );

  return {
    reads: {
      statuses,
      /** Spending and reservations of an owner, with or without a budget. */
      spent({ owner, day }: { owner: string; day: number }): { dayNano: number; monthNano: number; heldNano: number } {
        const month = monthOf(day);
        return {
          dayNano: spent.get({ owner, first: day, next: day + 1 })?.nano ?? 0,
          monthNano: spent.get({ owner, ...month })?.nano ?? 0,
          heldNano: held.get({ owner })?.nano ?? 0,
        };
      },
      owners: (): OwnerRow[] => owners.all(),
      /** Owners and keys with a budget that has a warning threshold. */
      payers: () => payers.all(),
      /**
       * Budgets of these payers whose spending has reached the warning threshold, without those that were already
       * warned of.
       */
      toWarn(args: { payers: { owner: string; keyId: string | null }[]; day: number }): BudgetStatus[] {
        const found = new Map<string, BudgetStatus>();
        for (const payer of args.payers) {
          for (const status of statuses({ ...payer, day: args.day })) {
            const { scope, subject, period, firstDay, softRatio, limitNano, spentNano } = status;
            if (softRatio === null || spentNano < softRatio * limitNano) continue;
            if (warned.get({ scope, subject, period, firstDay }) !== undefined) continue;
            found.set(`${scope} ${period} ${subject}`, status);
          }
        }
        return [...found.values()];
      },
    },
    writes: {
      setOwner: (row: OwnerRow): void => void setOwner.run(row),
      /** Stores a warning with its events. False, without events, when it was given before. */
      warn({ warning, events }: { warning: Warning; events: NewEvent[] }): boolean {
        if (warn.run(warning).changes === 0) return false;
        insertEvents(events);
        return true;
      },
      /** Removes warnings of periods that began before this day; a month's warning is needed until the month ends. */
      forgetWarnings: (args: { before: number }): number => forgetWarnings.run(args).changes,
    },
    rebuilds: {
      /**
       * Reserves money while every budget has something left. The last admitted request may therefore exceed the rest;
       * nothing is admitted after it.
       */
      reserve(row: ReservationRow): Reservation {
        const before = statuses(row);
        const usedUp = before.filter(isUsedUp);
        if (usedUp.length > 0) return { outcome: "used_up", statuses: usedUp };
        reservations.hold(row);
        return { outcome: "reserved", statuses: before.map((one) => ({ ...one, heldNano: one.heldNano + row.nano })) };
      },
      /** Corrects a reservation once the request's cost estimate is better known. */
      adjust: (args: { id: string; nano: number }): void => void adjust.run(args),
      /** Releases reservations of requests that are not charged; the ledger row of a charged one releases its own. */
      release({ ids }: { ids: string[] }): void {
        for (const id of ids) reservations.free(id);
      },
    },
  };
}
