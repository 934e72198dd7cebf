import type { Database } from "better-sqlite3";
import { monthOf } from "../../platform/utc-day.ts";
import {
  type BudgetPeriod,
  type BudgetScope,
  OWNER,
  type OwnerRow,
  type ReservationRow,
  type Standing,
} from "../types/budget-row.ts";
import { eventInsertion, type NewEvent } from "./outbox.ts";
import { isUsedUp, reservationsOf, standingsOf } from "./reservations.ts";

/** "used_up": nothing is held back, for these budgets have nothing left. */
export type Reservation =
  | { outcome: "reserved"; standings: Standing[] }
  | { outcome: "used_up"; standings: Standing[] };

/** A budget in one of its periods. */
export interface Warning {
  scope: BudgetScope;
  subject: string;
  period: BudgetPeriod;
  firstDay: number;
}

/** What may be spent, and what is held back of it for requests that run. */
export function budgets(db: Database) {
  const standings = standingsOf(db);
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
      standings,
      /** What an owner has spent, and what is held back, whether there is a budget or not. */
      spent({ owner, day }: { owner: string; day: number }): { dayNano: number; monthNano: number; heldNano: number } {
        const month = monthOf(day);
        return {
          dayNano: spent.get({ owner, first: day, next: day + 1 })?.nano ?? 0,
          monthNano: spent.get({ owner, ...month })?.nano ?? 0,
          heldNano: held.get({ owner })?.nano ?? 0,
        };
      },
      owners: (): OwnerRow[] => owners.all(),
      /** Who has a budget with a warning. */
      payers: () => payers.all(),
      /** Budgets of these payers that are past their soft ratio by what the ledger has, and were not told of. */
      toWarn(args: { payers: { owner: string; keyId: string | null }[]; day: number }): Standing[] {
        const found = new Map<string, Standing>();
        for (const payer of args.payers) {
          for (const standing of standings({ ...payer, day: args.day })) {
            const { scope, subject, period, firstDay, softRatio, limitNano, spentNano } = standing;
            if (softRatio === null || spentNano < softRatio * limitNano) continue;
            if (warned.get({ scope, subject, period, firstDay }) !== undefined) continue;
            found.set(`${scope} ${period} ${subject}`, standing);
          }
        }
        return [...found.values()];
      },
    },
    writes: {
      setOwner: (row: OwnerRow): void => void setOwner.run(row),
      /** Notes a warning together with its events. False, and no event, when it was given before. */
      warn({ warning, events }: { warning: Warning; events: NewEvent[] }): boolean {
        if (warn.run(warning).changes === 0) return false;
        insertEvents(events);
        return true;
      },
      /** Forgets warnings of periods that began before this day; a month's is of use as long as the month lasts. */
      forgetWarnings: (args: { before: number }): number => forgetWarnings.run(args).changes,
    },
    rebuilds: {
      /**
       * Holds money back as long as every budget has something left: so what is let in last may take more than was left,
       * and nothing after it is let in.
       */
      reserve(row: ReservationRow): Reservation {
        const before = standings(row);
        const usedUp = before.filter(isUsedUp);
        if (usedUp.length > 0) return { outcome: "used_up", standings: usedUp };
        reservations.hold(row);
        return { outcome: "reserved", standings: before.map((one) => ({ ...one, heldNano: one.heldNano + row.nano })) };
      },
      /** Once more is known of what it may cost. */
      adjust: (args: { id: string; nano: number }): void => void adjust.run(args),
      /** For what is not charged; what is goes with its ledger row. */
      release({ ids }: { ids: string[] }): void {
        for (const id of ids) reservations.free(id);
      },
    },
  };
}
