import type { Database } from "better-sqlite3";
import type { BudgetScope } from "../types/budget-row.ts";
import { columns } from "../types/columns.ts";
import { reservationsOf } from "./reservations.ts";

export type LedgerTier = "priority" | "default" | "flex" | "batch";

/** Usage and cost of one request. */
export interface LedgerRow {
  /** Unix seconds of the request's end. */
  time: number;
  /** Days since 1970 (UTC) of the request's start: the day whose budget it counts against. */
  day: number;
  owner: string;
  keyId: string | null;
  endpoint: string;
  model: string;
  /** Fingerprint of the model's weights. */
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
  /** 1 where an upstream has not counted all of these tokens. */
  estimated: 0 | 1;
  costNano: number;
  /** Cost of the same tokens at tier default; the difference is the discount. */
  defaultCostNano: number;
}

const LEDGER = columns<LedgerRow>([
  "time",
  "day",
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
  "estimated",
  "costNano",
  "defaultCostNano",
]);

/**
 * Writes one row, and adds it to the sums of its hour and of its owner's and key's day. A second row for the same batch
 * line is a constraint error, because it would charge twice.
 */
export function ledgerInsertion(db: Database): (row: LedgerRow) => void {
  const insert = db.prepare<LedgerRow>(`INSERT INTO ledger (${LEDGER.names}) VALUES (${LEDGER.values})`);
  const spend = db.prepare<{ scope: BudgetScope; subject: string; day: number; nano: number }>(
    `INSERT INTO spending (scope, subject, day, nano) VALUES (@scope, @subject, @day, @nano)
     ON CONFLICT (scope, subject, day) DO UPDATE SET nano = nano + excluded.nano`,
  );
  const sum = db.prepare<LedgerRow>(
    `INSERT INTO usage_hours VALUES (@owner, @time - @time % 3600, coalesce(@keyId, ''), @endpoint, @model, @version, @tier,
       @batchId IS NOT NULL, @estimated, 1, @inputTokens, @cachedTokens, @outputTokens, @reasoningTokens, @costNano, @defaultCostNano)
     ON CONFLICT DO UPDATE SET requests = requests + 1, input_tokens = input_tokens + excluded.input_tokens,
       cached_tokens = cached_tokens + excluded.cached_tokens, output_tokens = output_tokens + excluded.output_tokens,
       reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens, cost_nano = cost_nano + excluded.cost_nano,
       default_cost_nano = default_cost_nano + excluded.default_cost_nano`,
  );
  return (row) => {
    insert.run(row);
    sum.run(row);
    const { owner, keyId, day, costNano: nano } = row;
    spend.run({ scope: "owner", subject: owner, day, nano });
    if (keyId !== null) spend.run({ scope: "key", subject: keyId, day, nano });
  };
}

type RecentRow = Pick<LedgerRow, "model" | "batchId" | "inputTokens" | "cachedTokens" | "outputTokens">;

export function ledger(db: Database) {
  const insert = ledgerInsertion(db);
  const reservations = reservationsOf(db);
  const recent = db.prepare<{ rows: number }, RecentRow>(
    `SELECT model, batch_id AS batchId, input_tokens AS inputTokens, cached_tokens AS cachedTokens,
       output_tokens AS outputTokens
     FROM ledger WHERE id > (SELECT max(id) FROM ledger) - @rows AND batch_id IS NULL ORDER BY id`,
  );
  return {
    reads: {
      /** Rows of online requests among the latest `rows` rows, oldest first. */
      recent: (args: { rows: number }): RecentRow[] => recent.all(args),
    },
    writes: {
      /**
       * Inserts rows of online requests and releases their reservations; rows of batch lines are written by
       * `claims.commit`.
       */
      insert({ rows, settled = [] }: { rows: LedgerRow[]; settled?: string[] }): void {
        for (const row of rows) insert(row);
        for (const id of settled) reservations.free(id);
      },
    },
    rebuilds: {},
  };
}
