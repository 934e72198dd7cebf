import type { Database } from "better-sqlite3";
import type { BudgetStatus } from "../types/budget-row.ts";
import {
  type Claim,
  type Claimed,
  type ClaimedLine,
  type LineTerms,
  LONGEST_LINE_WAIT_MS,
  type SuspectGroup,
} from "../types/line-row.ts";
import { type LedgerRow, ledgerInsertion } from "./ledger.ts";
import { type LineSize, lineHoldsOf } from "./line-holds.ts";
import { type ResultKind, resultInsertion } from "./results.ts";

/** Engine deaths after which a line fails when it was alone in the engine. */
const LONE_DEATHS = 3;
/**
 * The same while online requests were in flight too, each of which may have caused the death. Under steady load a line
 * is never single.
 */
export const SOLE_DEATHS = 6;

/** The terminal result of a line. */
export interface Outcome {
  state: "done" | "failed";
  kind: ResultKind;
  requestId: string | null;
  statusCode: number | null;
  /** JSON text: the response body, or with `statusCode` null the error object. */
  body: string;
}

interface Deaths {
  loneDeaths: number;
  soleDeaths: number;
}

/** Lines in flight: claim, then commit, release, or the engine's death. */
export function claims(db: Database) {
  const insertResult = resultInsertion(db);
  const insertLedger = ledgerInsertion(db);
  const holds = lineHoldsOf(db);
  const due = db.prepare<{ batchId: string; suspect: number; nowMs: number; limit: number }, LineSize>(
    `SELECT number, length, choices, max_tokens AS maxTokens FROM lines
     WHERE batch_id = @batchId AND suspect = @suspect AND state = 'pending'
       AND (not_before_ms <= @nowMs OR not_before_ms > @nowMs + ${LONGEST_LINE_WAIT_MS})
       AND EXISTS (SELECT 1 FROM batches WHERE id = @batchId AND status = 'in_progress')
     ORDER BY position LIMIT @limit`,
  );
  const start = db.prepare<{ batchId: string; number: number }, ClaimedLine>(
    `UPDATE lines SET state = 'running', attempts = attempts + 1 WHERE batch_id = @batchId AND number = @number
     RETURNING batch_id AS batchId, number, attempts AS attempt, custom_id AS customId, offset, length,
       estimated_tokens AS estimatedTokens, suspect, lone_deaths AS loneDeaths`,
  );
  const settle = db.prepare<Claim & { state: string }, { estimatedTokens: number }>(
    `UPDATE lines SET state = @state, suspect = 0
     WHERE batch_id = @batchId AND number = @number AND state = 'running' AND attempts = @attempt
     RETURNING estimated_tokens AS estimatedTokens`,
  );
  const count = db.prepare<
    {
      batchId: string;
      completed: number;
      failed: number;
      estimatedTokens: number;
      inputTokens: number;
      cachedTokens: number;
      outputTokens: number;
      reasoningTokens: number;
      costNano: number;
    },
    { remaining: number }
  >(
    `UPDATE batches SET completed = completed + @completed, failed = failed + @failed,
       settled_tokens = settled_tokens + @estimatedTokens, input_tokens = input_tokens + @inputTokens,
       cached_tokens = cached_tokens + @cachedTokens, output_tokens = output_tokens + @outputTokens,
       reasoning_tokens = reasoning_tokens + @reasoningTokens, cost_nano = cost_nano + @costNano
     WHERE id = @batchId RETURNING total - completed - failed AS remaining`,
  );
  const release = db.prepare<Claim & { notBeforeMs: number }>(
    `UPDATE lines SET state = 'pending', not_before_ms = @notBeforeMs
     WHERE batch_id = @batchId AND number = @number AND state = 'running' AND attempts = @attempt`,
  );
  const inEngine = db.prepare<Claim, Deaths>(
    `SELECT lone_deaths AS loneDeaths, sole_deaths AS soleDeaths FROM lines
     WHERE batch_id = @batchId AND number = @number AND state = 'running' AND attempts = @attempt`,
  );
  const suspectLine = db.prepare<Claim & Deaths & { suspect: number }>(
    `UPDATE lines SET state = 'pending', not_before_ms = 0, suspect = @suspect, lone_deaths = @loneDeaths,
       sole_deaths = @soleDeaths
     WHERE batch_id = @batchId AND number = @number`,
  );
  const lastSuspect = db.prepare<[], { last: number }>(
    "SELECT coalesce(max(suspect), 0) AS last FROM lines WHERE suspect > 0",
  );
  const suspects = db.prepare<[], SuspectGroup>(
    `SELECT l.suspect, b.model, sum(l.state = 'pending') AS pending, sum(l.state = 'running') AS running,
       min(CASE WHEN l.state = 'pending' THEN l.not_before_ms END) AS dueMs
     FROM lines l JOIN batches b ON b.id = l.batch_id WHERE l.suspect > 0 GROUP BY l.suspect ORDER BY l.suspect`,
  );
  const suspectBatches = db.prepare<{ suspect: number }, { batchId: string }>(
    "SELECT DISTINCT batch_id AS batchId FROM lines WHERE suspect = @suspect AND suspect > 0",
  );
  const recover = db.prepare("UPDATE lines SET state = 'pending' WHERE state = 'running'");
  const endWaits = db.prepare("UPDATE lines SET not_before_ms = 0 WHERE not_before_ms > 0");

  function commit(claim: Claim, outcome: Outcome, ledger: LedgerRow | null): number | "stale" {
    const line = settle.get({ ...claim, state: outcome.state });
    if (line === undefined) return "stale";
    const day = holds.free(claim);
    const { kind, requestId, statusCode, body } = outcome;
    insertResult.run({ batchId: claim.batchId, number: claim.number, kind, requestId, statusCode, body });
    if (ledger !== null) insertLedger({ ...ledger, day: day ?? ledger.day });
    const counted = count.get({
      batchId: claim.batchId,
      completed: outcome.state === "done" ? 1 : 0,
      failed: outcome.state === "failed" ? 1 : 0,
      estimatedTokens: line.estimatedTokens,
      inputTokens: ledger?.inputTokens ?? 0,
      cachedTokens: ledger?.cachedTokens ?? 0,
      outputTokens: ledger?.outputTokens ?? 0,
      reasoningTokens: ledger?.reasoningTokens ?? 0,
      costNano: ledger?.costNano ?? 0,
    });
    return counted?.remaining ?? 0;
  }

  /**
   * With `bounded`, claiming stops when a budget of the batch is used up, or when the lines of its owner have reserved
   * their part of the rest.
   */
  function claimFrom(
    batchId: string,
    wanted: { suspect: number; nowMs: number; limit: number },
    terms: LineTerms,
    bounded: boolean,
  ): { lines: ClaimedLine[]; usedUp: BudgetStatus[] } {
    const lines: ClaimedLine[] = [];
    const ready = due.all({ batchId, ...wanted });
    const budgets = ready.length === 0 ? null : holds.of(batchId, wanted.nowMs, terms);
    if (budgets === null) return { lines, usedUp: [] };
    for (const line of ready) {
      const usedUp = bounded ? budgets.usedUpFor(line) : [];
      if (usedUp.length > 0) return { lines, usedUp };
      const started = start.get({ batchId, number: line.number });
      if (started === undefined) continue;
      budgets.hold(line);
      lines.push(started);
    }
    return { lines, usedUp: [] };
  }

  return {
    reads: {
      /**
       * Suspect groups. While there are any, one group per model at most may be in the engine, and no other line with
       * it.
       */
      suspects: (): SuspectGroup[] => suspects.all(),
    },
    writes: {
      /**
       * Claims up to `limit` due lines: batches in the given order, and lines of each in prefix order. Skips suspects,
       * batches that are not in progress, and batches with a used-up budget. The counted attempt is durable on return.
       */
      claim(args: { batchIds: string[]; limit: number; nowMs: number; terms: LineTerms }): Claimed {
        const { batchIds, limit, nowMs, terms } = args;
        const claimed: Claimed = { lines: [], paused: [] };
        for (const batchId of batchIds) {
          if (claimed.lines.length >= limit) break;
          const wanted = { suspect: 0, nowMs, limit: limit - claimed.lines.length };
          const { lines, usedUp } = claimFrom(batchId, wanted, terms, true);
          claimed.lines.push(...lines);
          if (usedUp.length > 0) claimed.paused.push({ batchId, usedUp });
        }
        return claimed;
      },
      /**
       * Claims the due lines of one suspect group from all its batches. Budgets do not stop it: while there are
       * suspects, no other lines run.
       */
      claimSuspects(args: { suspect: number; limit: number; nowMs: number; terms: LineTerms }): ClaimedLine[] {
        const { suspect, limit, nowMs, terms } = args;
        const claimed: ClaimedLine[] = [];
        for (const { batchId } of suspectBatches.all({ suspect })) {
          const wanted = { suspect, nowMs, limit: limit - claimed.length };
          claimed.push(...claimFrom(batchId, wanted, terms, false).lines);
        }
        return claimed;
      },
      /**
       * Writes result, line state, ledger row and batch counts in one transaction. `remaining` is the number of the
       * batch's lines that are not terminal. "stale": the claim was released or ended, and nothing was written.
       */
      commit(args: {
        claim: Claim;
        outcome: Outcome;
        ledger: LedgerRow | null;
      }): { outcome: "committed"; remaining: number } | { outcome: "stale" } {
        const remaining = commit(args.claim, args.outcome, args.ledger);
        return remaining === "stale" ? { outcome: "stale" } : { outcome: "committed", remaining };
      },
      /**
       * Makes lines pending again, not to be claimed before `notBeforeMs` (Unix milliseconds, 0: at once). Returns how
       * many.
       */
      release({ claims, notBeforeMs }: { claims: Claim[]; notBeforeMs: number }): number {
        let released = 0;
        for (const claim of claims) {
          if (release.run({ ...claim, notBeforeMs }).changes === 0) continue;
          holds.free(claim);
          released++;
        }
        return released;
      },
      /**
       * Handles lines that were in flight when the engine died. Several become two suspect groups of half the lines
       * each. A single line becomes a group of its own. It fails with `failure` as its error result at the third death
       * without online requests in flight (`withOthers` false), or at the sixth of any kind.
       */
      engineDied(args: { claims: Claim[]; withOthers: boolean; failure: string }): {
        failed: Claim[];
        suspects: number[];
      } {
        const dead = args.claims.flatMap((claim) => {
          const line = inEngine.get(claim);
          return line === undefined ? [] : [{ claim, ...line }];
        });
        const group = (lastSuspect.get()?.last ?? 0) + 1;
        if (dead.length > 1) {
          const half = Math.ceil(dead.length / 2);
          dead.forEach(({ claim, ...deaths }, index) => {
            holds.free(claim);
            suspectLine.run({ ...claim, ...deaths, suspect: index < half ? group : group + 1 });
          });
          return { failed: [], suspects: [group, group + 1] };
        }
        const [single] = dead;
        if (single === undefined) return { failed: [], suspects: [] };
        // Lines that the end of their batch took meanwhile were in flight too.
        const sole = args.claims.length === 1;
        const loneDeaths = single.loneDeaths + (sole && !args.withOthers ? 1 : 0);
        const soleDeaths = single.soleDeaths + (sole ? 1 : 0);
        if (loneDeaths < LONE_DEATHS && soleDeaths < SOLE_DEATHS) {
          holds.free(single.claim);
          suspectLine.run({ ...single.claim, suspect: group, loneDeaths, soleDeaths });
          return { failed: [], suspects: [group] };
        }
        const body = args.failure;
        commit(single.claim, { state: "failed", kind: "error", requestId: null, statusCode: null, body }, null);
        return { failed: [single.claim], suspects: [] };
      },
      /**
       * At start: lines that were running become pending, all reservations are removed, and backoffs end, because the
       * wall clock may have changed. Attempts are kept; no line becomes a suspect.
       */
      recover(): number {
        holds.freeAll();
        endWaits.run();
        return recover.run().changes;
      },
    },
    rebuilds: {},
  };
}
