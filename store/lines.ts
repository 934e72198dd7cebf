import type { Database } from "better-sqlite3";
import type { LineState, NewLine } from "./line-row.ts";

/** Lines before and after their way through the engine. */
export function lines(db: Database) {
  // Prefixes are needed from a line's insertion to its ordering only, and a crash in between starts the validation anew.
  // As a sorted temporary table they cost no log and no fsync: with an index over them in the database, 50,000 lines took
  // 65 MB and 12 s instead of 7 MB and 2 s.
  db.exec(`CREATE TEMP TABLE prefixes
    (batch_id TEXT, prefix TEXT, number INTEGER, PRIMARY KEY (batch_id, prefix, number)) WITHOUT ROWID`);
  const insert = db.prepare<NewLine & { batchId: string }>(
    `INSERT INTO lines (batch_id, number, custom_id, offset, length, position, estimated_tokens)
     VALUES (@batchId, @number, @customId, @offset, @length, 0, @estimatedTokens)
     ON CONFLICT (batch_id, custom_id) DO NOTHING`,
  );
  const insertPrefix = db.prepare<NewLine & { batchId: string }>(
    "INSERT INTO prefixes (batch_id, prefix, number) VALUES (@batchId, @prefix, @number)",
  );
  const firstPrefixes = db.prepare<{ batchId: string; limit: number }, { prefix: string; number: number }>(
    "SELECT prefix, number FROM prefixes WHERE batch_id = @batchId ORDER BY prefix, number LIMIT @limit",
  );
  const place = db.prepare<{ batchId: string; number: number; position: number }>(
    "UPDATE lines SET position = @position WHERE batch_id = @batchId AND number = @number",
  );
  const removePrefixes = db.prepare<{ batchId: string; prefix: string; number: number }>(
    "DELETE FROM prefixes WHERE batch_id = @batchId AND (prefix, number) <= (@prefix, @number)",
  );
  const counts = db.prepare<{ batchId: string }, { state: LineState; count: number }>(
    "SELECT state, count(*) AS count FROM lines WHERE batch_id = @batchId GROUP BY state",
  );
  const nextDue = db.prepare<{ batchId: string }, { at: number | null }>(
    "SELECT min(not_before_ms) AS at FROM lines WHERE batch_id = @batchId AND state = 'pending'",
  );
  const endable = (states: string) =>
    db.prepare<{ batchId: string; limit: number }, { number: number; estimatedTokens: number }>(
      `SELECT number, estimated_tokens AS estimatedTokens FROM lines
       WHERE batch_id = @batchId AND ${states} LIMIT @limit`,
    );
  const pendingLines = endable("state = 'pending'");
  const runningLines = endable("state = 'running'");
  const end = db.prepare<{ batchId: string; number: number; state: string }>(
    "UPDATE lines SET state = @state, suspect = 0 WHERE batch_id = @batchId AND number = @number",
  );
  const insertError = db.prepare<{ batchId: string; number: number; body: string }>(
    "INSERT INTO results (batch_id, number, kind, body) VALUES (@batchId, @number, 'error', @body)",
  );
  const settleTokens = db.prepare<{ batchId: string; tokens: number }>(
    "UPDATE batches SET settled_tokens = settled_tokens + @tokens WHERE id = @batchId",
  );
  const remove = db.prepare<{ batchId: string; limit: number }>(
    `DELETE FROM lines WHERE batch_id = @batchId AND number IN
       (SELECT number FROM lines WHERE batch_id = @batchId ORDER BY number LIMIT @limit)`,
  );

  /** Positions only rise, and are compared within one batch only: gaps and restarts do no harm. */
  let position = 0;

  function orderSome(batchId: string, limit: number): number {
    const first = firstPrefixes.all({ batchId, limit });
    for (const { number } of first) place.run({ batchId, number, position: ++position });
    const last = first.at(-1);
    if (last !== undefined) removePrefixes.run({ batchId, ...last });
    return first.length;
  }

  return {
    reads: {
      /** How many lines stand in each state that any stands in. */
      counts: (args: { batchId: string }) => counts.all(args),
      /** When the first pending line may be claimed, Unix milliseconds (0: at once); null without a pending line. */
      nextDueMs: (args: { batchId: string }): number | null => nextDue.get(args)?.at ?? null,
    },
    writes: {
      /**
       * Ends up to `limit` lines without an answer, with `error` (JSON of `{code, message}`) as their result: pending
       * ones, and with `running` those in the engine too, whose late answers are stale then. Returns how many; call
       * again until 0.
       */
      end(args: {
        batchId: string;
        state: "cancelled" | "expired";
        running: boolean;
        error: string;
        limit: number;
      }): number {
        const { batchId, state, running, error, limit } = args;
        const ended = pendingLines.all({ batchId, limit });
        if (running && ended.length < limit) ended.push(...runningLines.all({ batchId, limit: limit - ended.length }));
        let tokens = 0;
        for (const { number, estimatedTokens } of ended) {
          end.run({ batchId, number, state });
          insertError.run({ batchId, number, body: error });
          tokens += estimatedTokens;
        }
        settleTokens.run({ batchId, tokens });
        return ended.length;
      },
    },
    rebuilds: {
      /**
       * Inserts lines of a batch that is being validated. Returns the numbers of those whose custom_id an earlier line
       * has; they are not inserted.
       */
      insert({ batchId, lines }: { batchId: string; lines: NewLine[] }): number[] {
        return lines.flatMap((line) => {
          const row = { ...line, batchId };
          if (insert.run(row).changes === 0) return [line.number];
          insertPrefix.run(row);
          return [];
        });
      },
      /**
       * Puts up to `limit` more lines of a validated batch in prefix order, in which they are claimed. Returns how many;
       * call again until 0, and then `batches.begin`.
       */
      order: ({ batchId, limit }: { batchId: string; limit: number }): number => orderSome(batchId, limit),
      /**
       * Removes up to `limit` line rows: of a validation that starts anew or failed, or of a terminal batch after its
       * results. Returns how many; call again until 0.
       */
      remove(args: { batchId: string; limit: number }): number {
        orderSome(args.batchId, args.limit);
        return remove.run(args).changes;
      },
    },
  };
}
