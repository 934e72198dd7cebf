import type { Database } from "better-sqlite3";
import type { LineState, NewLines } from "./line-row.ts";

/** Lines before and after their way through the engine. */
export function lines(db: Database) {
  // Bound by place and not by name, a row costs half.
  const insert = db.prepare<[string, number, string, number, number, number, number]>(
    `INSERT INTO lines (batch_id, number, custom_id, offset, length, position, estimated_tokens)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
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
      /** Inserts lines of a batch that is being validated: all of them or, when a number is there, none. */
      insert({ batchId, lines }: { batchId: string; lines: NewLines }): void {
        const { numbers, customIds, offsets, lengths, positions, estimatedTokens } = lines;
        customIds.forEach((customId, i) => {
          insert.run(batchId, numbers[i]!, customId, offsets[i]!, lengths[i]!, positions[i]!, estimatedTokens[i]!);
        });
      },
      /**
       * Removes up to `limit` line rows: of a validation that starts anew or failed, or of a terminal batch after its
       * results. Returns how many; call again until 0.
       */
      remove: (args: { batchId: string; limit: number }): number => remove.run(args).changes,
    },
  };
}
