import type { Database } from "better-sqlite3";
import { dayOf } from "../../platform/utc-day.ts";
import type { BudgetStatus } from "../types/budget-row.ts";
import type { Claim, LineTerms } from "../types/line-row.ts";
import { budgetStatusesOf, isUsedUp, lineReservation, reservationsOf } from "./reservations.ts";

/**
 * Fraction of a budget's rest that all lines of its owner or key may reserve together; the other part is for requests.
 */
const LINES_PART = 0.5;

/** Upper bounds of a line's cost. */
export interface LineSize {
  number: number;
  /** Bytes of its JSON, an upper bound of its prompt's tokens. */
  length: number;
  choices: number;
  /** Null: bounded by the context alone. */
  maxTokens: number | null;
}

/** The budgets of one batch while its lines are claimed. */
export interface BatchHolds {
  /**
   * Used-up budgets that stop the line; empty when it may run. A line that may cost more than the lines' part runs
   * while no other line does.
   */
  usedUpFor(line: LineSize): BudgetStatus[];
  /** Reserves the line's highest possible cost, or the rest of the lines' part. */
  hold(line: LineSize): void;
}

/** Reservations of running lines. */
export function lineHoldsOf(db: Database) {
  const reservations = reservationsOf(db);
  const statuses = budgetStatusesOf(db);
  const payerOf = db.prepare<{ batchId: string }, { owner: string; keyId: string | null }>(
    "SELECT owner, key_id AS keyId FROM batches WHERE id = @batchId",
  );
  const freeAll = db.prepare("DELETE FROM reservations");

  return {
    /** Null for an unknown batch. */
    of(batchId: string, nowMs: number, terms: LineTerms): BatchHolds | null {
      const payer = payerOf.get({ batchId });
      if (payer === undefined) return null;
      const day = dayOf(nowMs);
      let budgets = statuses({ ...payer, day }).map((one) => ({
        ...one,
        lineNano: reservations.ofLines(payer.owner, one),
      }));
      return {
        usedUpFor(line) {
          const most = mostNano(line, terms);
          if (most === 0) return [];
          return budgets.filter((one) => isUsedUp(one) || (one.lineNano > 0 && most > availableForLines(one)));
        },
        hold(line) {
          const nano = Math.max(0, Math.min(mostNano(line, terms), ...budgets.map(availableForLines)));
          reservations.hold({ id: lineReservation(batchId, line.number), ...payer, day, nano });
          budgets = budgets.map((one) => ({ ...one, heldNano: one.heldNano + nano, lineNano: one.lineNano + nano }));
        },
      };
    },
    /** Releases a line's reservation. Returns the day that it counted against; null without one. */
    free: ({ batchId, number }: Claim): number | null => reservations.free(lineReservation(batchId, number)),
    /** Removes all reservations, also those of requests. */
    freeAll: (): void => void freeAll.run(),
  };
}

/** Money that further lines may reserve of a budget with `lineNano` reserved for lines. */
function availableForLines({ limitNano, spentNano, heldNano, lineNano }: BudgetStatus & { lineNano: number }): number {
  return Math.floor((limitNano - spentNano - (heldNano - lineNano)) * LINES_PART) - lineNano;
}

/**
 * Highest cost of a line, in whole nano-dollars, rounded up. A line that generates nothing may have many inputs, each
 * as long as the context.
 */
function mostNano({ length, choices, maxTokens }: LineSize, { inputNano, outputNano, context }: LineTerms): number {
  const prompt = choices === 0 ? length : Math.min(length, context);
  const answers = choices * Math.min(maxTokens ?? context, context);
  return Math.ceil(prompt * inputNano + answers * outputNano);
}
