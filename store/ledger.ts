import type { Database } from "better-sqlite3";
import { columns } from "./columns.ts";

export type LedgerTier = "priority" | "default" | "flex" | "batch";

/** One request: who used how many tokens at which tier, and what they cost. */
export interface LedgerRow {
  /** Unix seconds of its end. */
  time: number;
  owner: string;
  keyId: string | null;
  endpoint: string;
  model: string;
  /** Fingerprint of the weights that answered. */
  version: string;
  tier: LedgerTier;
  /** Both null for an online request. */
  batchId: string | null;
  line: number | null;
  inputTokens: number;
  /** Part of inputTokens. */
  cachedTokens: number;
  outputTokens: number;
  /** Part of outputTokens. */
  reasoningTokens: number;
  costNano: number;
  /** What the same tokens cost at tier default: the difference is what a discount saved. */
  defaultCostNano: number;
}

const LEDGER = columns<LedgerRow>([
  "time",
  "owner",
  "keyId",
  "endpoint",
  "model",
  "version",
  "tier",
  "batchId",
  "line",
  "inputTokens",
  "cachedTokens",
  "outputTokens",
  "reasoningTokens",
  "costNano",
  "defaultCostNano",
]);

/** Writes one row. A second one for the same batch line is a constraint error: it would charge twice. */
export function ledgerInsertion(db: Database) {
  return db.prepare<LedgerRow>(`INSERT INTO ledger (${LEDGER.names}) VALUES (${LEDGER.values})`);
}

export function ledger(db: Database) {
  const insert = ledgerInsertion(db);
  return {
    reads: {},
    writes: {
      /** Rows of online requests; those of batch lines go with `lines.commit`. */
      insert({ rows }: { rows: LedgerRow[] }): void {
        for (const row of rows) insert.run(row);
      },
    },
    rebuilds: {},
  };
}
