import { columns } from "./columns.ts";

export type BudgetScope = "key" | "owner";
export type BudgetPeriod = "daily" | "monthly";

/** One budget in its current period, with what was spent and reserved. */
export interface BudgetStatus {
  scope: BudgetScope;
  /** The key's id, or the owner. */
  subject: string;
  period: BudgetPeriod;
  /** Days since 1970 (UTC): first inclusive, next exclusive. */
  firstDay: number;
  nextDay: number;
  limitNano: number;
  /** Fraction of the limit at which the owner is warned; null for no warning. */
  softRatio: number | null;
  /** Sum of the ledger's rows. */
  spentNano: number;
  /** Sum of the reservations of running requests and lines. */
  heldNano: number;
}

/** Budget of all keys of one owner together, in nano-dollars; null is no bound. */
export interface OwnerRow {
  owner: string;
  dailyNano: number | null;
  monthlyNano: number | null;
  softRatio: number | null;
}

/** Money reserved for a running request or line. */
export interface ReservationRow {
  id: string;
  owner: string;
  keyId: string | null;
  /** The day whose budget it counts against, like its ledger row later. */
  day: number;
  nano: number;
}

export const OWNER = columns<OwnerRow>(["owner", "dailyNano", "monthlyNano", "softRatio"]);
export const RESERVATION = columns<ReservationRow>(["id", "owner", "keyId", "day", "nano"]);
