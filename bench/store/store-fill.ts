import { join } from "node:path";
import Database from "better-sqlite3";

export interface StorePlan {
  /** Terminal batches of OWNERS owners. */
  batches: number;
  /** Ledger rows, evenly over DAYS. */
  ledger: number;
  /** Results of one batch before its clean-up, and the bytes of each. */
  results: number;
  resultBytes: number;
}

const OWNERS = 20;
export const DAYS = 31;
const DAY = 86_400;

/** Fills the tables of a closed store like years of use; every row passes the same triggers as a server's rows. */
export function fillStore(dataDir: string, plan: StorePlan, now: number): void {
  const db = new Database(join(dataDir, "nightshift.db"));
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -262144");
  const counted = "WITH RECURSIVE row (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < @count)";
  const batches = db.prepare(
    `${counted} INSERT INTO batches (id, owner, endpoint, input_file_id, completion_window, status, created_at, expires_at)
     SELECT 'batch_' || n, 'owner' || n % ${OWNERS}, '/v1/chat/completions', 'file-' || n, '24h', 'completed', @now, @now
     FROM row`,
  );
  const ledger = db.prepare(
    `${counted} INSERT INTO ledger (time, owner, key_id, endpoint, model, version, tier, input_tokens, cached_tokens,
       output_tokens, reasoning_tokens, cost_nano, default_cost_nano, day)
     SELECT CAST(@from + n * @step AS INTEGER), 'owner' || n % ${OWNERS}, 'key_' || n % ${OWNERS * 2},
       '/v1/chat/completions', iif(n % 3, 'demo', 'other'), iif(n % 3, 'fp_9b0a151c453c', 'fp_gpu_48a1948cf9fb'), iif(n % 5, 'default', 'flex'), 100, 10, 20, 0, 500, 500,
       CAST((@from + CAST(n * @step AS INTEGER)) / ${DAY} AS INTEGER)
     FROM row`,
  );
  const sums = db.prepare(
    `INSERT INTO usage_hours SELECT owner, time - time % 3600, key_id, endpoint, model, version, tier, 0, 0, count(*),
       sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_nano),
       sum(default_cost_nano)
     FROM ledger GROUP BY 1, 2, 3, 4, 5, 6, 7`,
  );
  const lines = db.prepare(
    `${counted} INSERT INTO lines (batch_id, number, custom_id, offset, length, position, estimated_tokens, state)
     SELECT 'batch_1', n, 'line-' || n, 0, 1, n, 1, 'done' FROM row`,
  );
  const results = db.prepare(
    `${counted} INSERT INTO results (batch_id, number, kind, body)
     SELECT 'batch_1', n, 'output', hex(zeroblob(CAST(@bytes / 2 AS INTEGER))) FROM row`,
  );
  const file = db.prepare(
    `INSERT INTO files (id, owner, purpose, filename, bytes, sha256, created_at)
     VALUES ('file-out', 'owner1', 'batch_output', 'out.jsonl', 1, '00', @now)`,
  );
  const from = now - DAYS * DAY;
  db.transaction(() => {
    batches.run({ count: plan.batches, now });
    ledger.run({ count: plan.ledger, from, step: (DAYS * DAY - 1) / plan.ledger });
    sums.run();
    lines.run({ count: plan.results });
    results.run({ count: plan.results, bytes: plan.resultBytes });
    file.run({ now });
    db.exec("UPDATE batches SET output_file_id = 'file-out' WHERE id = 'batch_1'");
  })();
  db.close();
}
