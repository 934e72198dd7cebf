import type { Database } from "better-sqlite3";
import type { LineState, NewLine } from "./line-row.ts";

/** Lines before and after their way through the engine. */
export function lines(db: Database) {
  const insert = db.prepare<NewLine & { batchId: string }>(
    `INSERT INTO lines (batch_id, number, custom_id, offset, length, prefix, estimated_tokens)
     VALUES (@batchId, @number, @customId, @offset, @length, @prefix, @estimatedTokens)
     ON CONFLICT (batch_id, custom_id) DO NOTHING`,
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

  return {
    reads: {
      /** How many lines stand in each state that any stands in. */
      counts: (args: { batchId: string }) => counts.all(args),
      /** When the first pending line may be claimed, Unix milliseconds (0: at once); null without a pending line. */
      nextDueMs: (args: { batchId: string }): number | null => nextDue.get(args)?.at ?? null,
    },
    writes: {
      /**
       * Inserts lines of a batch that is being validated. Returns the numbers of those whose custom_id an earlier line
       * has; they are not inserted. 100 lines take well under 5 ms.
       */
      insert({ batchId, lines }: { batchId: string; lines: NewLine[] }): number[] {
        return lines.filter((line) => insert.run({ ...line, batchId }).changes === 0).map(({ number }) => number);
      },
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
      /**
       * Removes up to `limit` line rows: of a validation that starts anew, failed, or of a terminal batch after its
       * results. Returns how many; call again until 0.
       */
      remove: (args: { batchId: string; limit: number }): number => remove.run(args).changes,
    },
  };
}
