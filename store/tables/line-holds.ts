import type { Database } from "better-sqlite3";
import { dayOf } from "../../platform/utc-day.ts";
import type { Standing } from "../types/budget-row.ts";
import type { Claim, LineTerms } from "../types/line-row.ts";
import { isUsedUp, lineReservation, reservationsOf, standingsOf } from "./reservations.ts";

/** Of what is left of a budget, all lines of its owner or key together hold back at most so much: the rest is for requests. */
const LINES_PART = 0.5;

/** What bounds the costs of a line. */
export interface LineSize {
  number: number;
  /** Bytes, of its JSON: more than its prompt can have tokens. */
  length: number;
  choices: number;
  /** Null: as many as the context has room for. */
  maxTokens: number | null;
}

/** The budgets of one batch while some of its lines are claimed. */
export interface BatchHolds {
  /** What keeps the line from running; empty when nothing does. One that may cost more than the lines' part runs when no other does. */
  usedUpFor(line: LineSize): Standing[];
  /** Holds back what the line may cost, or what the lines' part has left. */
  hold(line: LineSize): void;
}

/** What running lines hold back of budgets. */
export function lineHoldsOf(db: Database) {
  const reservations = reservationsOf(db);
  const standings = standingsOf(db);
  const payerOf = db.prepare<{ batchId: string }, { owner: string; keyId: string | null }>(
    "SELECT owner, key_id AS keyId FROM batches WHERE id = @batchId",
  );
  const freeAll = db.prepare("DELETE FROM reservations");

  return {
    /** Null for a batch that is not there. */
    of(batchId: string, nowMs: number, terms: LineTerms): BatchHolds | null {
      const payer = payerOf.get({ batchId });
      if (payer === undefined) return null;
      const day = dayOf(nowMs);
      let budgets = standings({ ...payer, day }).map((one) => ({
        ...one,
        lineNano: reservations.ofLines(payer.owner, one),
      }));
      return {
        usedUpFor(line) {
          const most = mostNano(line, terms);
          if (most === 0) return [];
          return budgets.filter((one) => isUsedUp(one) || (one.lineNano > 0 && most > roomForLines(one)));
        },
        hold(line) {
          const nano = Math.max(0, Math.min(mostNano(line, terms), ...budgets.map(roomForLines)));
          reservations.hold({ id: lineReservation(batchId, line.number), ...payer, day, nano });
          budgets = budgets.map((one) => ({ ...one, heldNano: one.heldNano + nano, lineNano: one.lineNano + nano }));
        },
      };
    },
    /** The day that it counted against; null for a line that holds nothing back. */
    free: ({ batchId, number }: Claim): number | null => reservations.free(lineReservation(batchId, number)),
    /** Frees what requests hold back too. */
    freeAll: (): void => void freeAll.run(),
  };
}

/** What further lines may hold back of a budget, of which `lineNano` is held for lines. */
function roomForLines({ limitNano, spentNano, heldNano, lineNano }: Standing & { lineNano: number }): number {
  return Math.floor((limitNano - spentNano - (heldNano - lineNano)) * LINES_PART) - lineNano;
}

/** Whole nano-dollars, rounded up. What generates nothing may have many inputs, each as long as the context. */
function mostNano({ length, choices, maxTokens }: LineSize, { inputNano, outputNano, context }: LineTerms): number {
  const prompt = choices === 0 ? length : Math.min(length, context);
  const answers = choices * Math.min(maxTokens ?? context, context);
  return Math.ceil(prompt * inputNano + answers * outputNano);
}
