import type { Database } from "better-sqlite3";
import { type LineState, type NewLines, OPEN_ANSWER } from "../types/line-row.ts";
import { lineReservation, reservationsOf } from "./reservations.ts";

/** Expected tokens of all lines of a batch, with answers of the usual length. */
export interface ExpectedTokens {
  /** Sum of validation's estimates. */
  estimatedTokens: number;
  promptTokens: number;
  answerTokens: number;
}

/** Lines before and after their time in the engine. */
export function lines(db: Database) {
  // Positional parameters halve the cost of a row against named ones.
  const insert = db.prepare<[string, number, string, ...number[], number | null]>(
    `INSERT INTO lines (batch_id, number, custom_id, offset, length, position, estimated_tokens, prompt_tokens, choices,
       max_tokens)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const reservations = reservationsOf(db);
  const expected = db.prepare<{ batchId: string; usualAnswer: number }, ExpectedTokens>(
    `SELECT coalesce(sum(estimated_tokens), 0) AS estimatedTokens, coalesce(sum(prompt_tokens), 0) AS promptTokens,
       coalesce(sum(choices * min(@usualAnswer, coalesce(max_tokens, @usualAnswer))), 0) AS answerTokens
     FROM lines WHERE batch_id = @batchId`,
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
      /** Number of lines by state, without zeros. */
      counts: (args: { batchId: string }) => counts.all(args),
      /** Assumes answers of the usual length, or of the line's limit where that is shorter. */
      expected: (args: { batchId: string; usualAnswer: number }): ExpectedTokens =>
        expected.get(args) ?? { estimatedTokens: 0, promptTokens: 0, answerTokens: 0 },
      /** Time at which the next pending line is due, Unix milliseconds (0: now); null without a pending line. */
      nextDueMs: (args: { batchId: string }): number | null => nextDue.get(args)?.at ?? null,
    },
    writes: {
      /**
       * Ends up to `limit` lines without an answer, with `error` (JSON of `{code, message}`) as their result: pending
       * lines, and with `running` also those in flight, whose later results are stale. Returns how many; call again
       * until 0.
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
          reservations.free(lineReservation(batchId, number));
          tokens += estimatedTokens;
        }
        settleTokens.run({ batchId, tokens });
        return ended.length;
      },
    },
    rebuilds: {
      /** Inserts lines of a batch that is being validated: all of them, or none when a number exists. */
      insert({ batchId, lines }: { batchId: string; lines: NewLines }): void {
        const { numbers, customIds, offsets, lengths, positions } = lines;
        const { estimatedTokens, promptTokens, choices, maxTokens } = lines;
        customIds.forEach((customId, i) => {
          const place = [numbers[i]!, customId, offsets[i]!, lengths[i]!, positions[i]!] as const;
          const most = maxTokens[i] === OPEN_ANSWER ? null : maxTokens[i]!;
          insert.run(batchId, ...place, estimatedTokens[i]!, promptTokens[i]!, choices[i]!, most);
        });
      },
      /**
       * Removes up to `limit` line rows: of a failed or restarted validation, or of a terminal batch after its results.
       * Returns how many; call again until 0.
       */
      remove: (args: { batchId: string; limit: number }): number => remove.run(args).changes,
    },
  };
}
