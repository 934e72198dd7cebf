import { columns } from "./columns.ts";

export type BudgetScope = "key" | "owner";
export type BudgetPeriod = "daily" | "monthly";

/** One budget, and how much of it is gone. */
export interface Standing {
  scope: BudgetScope;
  /** The key's id, or the owner. */
  subject: string;
  period: BudgetPeriod;
  /** Days since 1970 (UTC): from, inclusive, to, exclusive. */
  firstDay: number;
  nextDay: number;
  limitNano: number;
  /** The share of it from which its owner is warned; null for no warning. */
  softRatio: number | null;
  /** What the ledger has. */
  spentNano: number;
  /** What is held back for requests and lines that run. */
  heldNano: number;
}

/** What all keys of one owner may spend together, in nano-dollars; null is no bound. */
export interface OwnerRow {
  owner: string;
  dailyNano: number | null;
  monthlyNano: number | null;
  softRatio: number | null;
}

/** Money held back for a request or a line that runs. */
export interface ReservationRow {
  id: string;
  owner: string;
  keyId: string | null;
  /** The day that it counts against, and its ledger row after it. */
  day: number;
  nano: number;
}

export const OWNER = columns<OwnerRow>(["owner", "dailyNano", "monthlyNano", "softRatio"]);
export const RESERVATION = columns<ReservationRow>(["id", "owner", "keyId", "day", "nano"]);
