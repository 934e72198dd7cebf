import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import type { ActiveBatch } from "./active-batch.ts";
import type { CrashBisection } from "./crash-bisection.ts";
import type { InFlightLine } from "./in-flight-lines.ts";
import type { LineClaimer } from "./line-claimer.ts";
import type { Executed } from "./line-execution.ts";
import type { LineReleaser } from "./line-releaser.ts";
import type { LineResult, ResultCommitter } from "./result-committer.ts";
import { LOGGED_FROM_ATTEMPT, lineFields, MAX_FAULTS } from "./retry-policy.ts";

export interface LineSettlementDeps {
  claimer: Pick<LineClaimer, "observeAnswer">;
  bisection: Pick<CrashBisection, "died" | "finished">;
  results: Pick<ResultCommitter, "add">;
  releaser: Pick<LineReleaser, "release" | "retryLater">;
  randomId: () => string;
  /** Lines that waited for a budget may run now. */
  budgetFreed: () => void;
  log: Log;
}

/** Lines that have ended since the server started, and their estimated tokens. */
export interface SettledLines {
  lines: number;
  tokens: number;
}

/** Consequence of a line's execution, by its outcome: a result that is committed, or a release. */
export class LineSettlement {
  readonly #deps: LineSettlementDeps;
  #settled: SettledLines = { lines: 0, tokens: 0 };

  constructor(deps: LineSettlementDeps) {
    this.#deps = deps;
  }

  get settled(): SettledLines {
    return this.#settled;
  }

  newRequestId(): string {
    return `req_${this.#deps.randomId()}`;
  }

  /** A result is with the result writer when this returns; the promise resolves when a release has ended. */
  async settle({ line, batch }: InFlightLine, requestId: string, executed: Executed): Promise<void> {
    const { bisection, claimer, releaser, log } = this.#deps;
    failpoint("inference.after");
    switch (executed.how) {
      case "answered":
        // An error may have been answered without the engine, which then still counts its deaths.
        if (executed.statusCode < 400) bisection.finished();
        if (executed.usage !== null) claimer.observeAnswer(executed.usage);
        this.#commit(line, batch, requestId, executed);
        return;
      case "timed_out":
        this.#commit(line, batch, requestId, executed);
        return;
      case "engine_died":
        bisection.died(line, executed);
        return;
      case "fault":
        this.fault(line, batch, executed.reason);
        return;
      case "passing":
        if (line.attempt >= LOGGED_FROM_ATTEMPT) {
          log.warn(lineFields(line, executed.reason), "A line could not run; it is tried again later");
        }
        await releaser.retryLater(line);
        return;
      case "stopped":
        // The end of a withdrawn batch ends its claimed lines too.
        if (!batch.withdrawn) await releaser.release([line]);
    }
  }

  /** The server itself failed at a line. */
  fault(line: ClaimedLine, batch: ActiveBatch, reason: string): void {
    const faults = batch.addFault(line.number);
    const givenUp = faults >= MAX_FAULTS;
    this.#deps.log.error({ ...lineFields(line, reason), givenUp }, "The server failed at a line");
    if (givenUp) this.#commit(line, batch, this.newRequestId(), { how: "given_up" });
    else void this.#deps.releaser.retryLater(line);
  }

  #commit(line: ClaimedLine, batch: ActiveBatch, requestId: string, result: LineResult): void {
    const { results, releaser, budgetFreed } = this.#deps;
    results.add(line, batch.batch, requestId, result, {
      committed: (left) => {
        this.#settled = { lines: this.#settled.lines + 1, tokens: this.#settled.tokens + line.estimatedTokens };
        if (left === 0) batch.signalDrained();
        if (batch.usedUp.length === 0) return;
        // The part of the reservation that the line did not use is free for the next lines.
        batch.restUntil = 0;
        budgetFreed();
      },
      refused: (code) => {
        if (result.how === "given_up") void releaser.retryLater(line);
        else this.fault(line, batch, `the store refused its result (${code})`);
      },
    });
  }
}
