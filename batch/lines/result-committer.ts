import { setTimeout as wait } from "node:timers/promises";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { lineError } from "../../openapi/resources/batch-errors.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { Outcome } from "../../store/tables/claims.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import { StoreError, type StoreErrorCode } from "../../store/types/store-error.ts";
import type { DispatchedBatch } from "./active-batch.ts";
import type { Executed } from "./line-execution.ts";
import type { LineObserver } from "./line-observer.ts";

export interface ResultCommitterDeps {
  model: string;
  store: Pick<Store, "claims">;
  ledger: Pick<UsageLedger, "lineRow" | "lineRates" | "committed">;
  observer: LineObserver;
  /** Called when a full writer has room again. */
  roomAgain: () => void;
  log: Log;
}

/** Result of a line: an answer, or the reason that there is none. `given_up`: the server failed at the line too often. */
export type LineResult = Extract<Executed, { how: "answered" | "timed_out" }> | { how: "given_up" };

/** Called once for a result, unless its claim is stale or the server ends. */
export interface ResultListener {
  /** The line has ended; `left` lines of its batch have not. */
  committed(left: number): void;
  /** The store will never accept the result, and the line is still claimed. */
  refused(code: StoreErrorCode): void;
}

/** Results that may wait for the disk before no further line starts. */
const MAX_RESULTS = 1024;
/** Milliseconds before a result that the disk refused is written again. */
const RETRY_MS = 1000;
/** Milliseconds for which results gather: a commit writes the same pages for one result as for ten, and delays no answer. */
const GATHER_MS = 25;

const GIVEN_UP = new ApiError("internal_error", "The server failed at this request several times; its log says why.");

/**
 * Results on their way to the store. Results that come within a few milliseconds go to the store together, which writes them
 * in one transaction. A result that the disk refuses is tried again until it is written or the server ends; in that case its
 * line runs again.
 */
export class ResultCommitter {
  readonly #deps: ResultCommitterDeps;
  readonly #open = new Map<string, Set<Promise<void>>>();
  /** Resolves when the results that gather now go to the store. */
  #gathering: Promise<void> | null = null;
  #size = 0;
  #stopped = false;

  constructor(deps: ResultCommitterDeps) {
    this.#deps = deps;
  }

  /** True while no further line may start. */
  get full(): boolean {
    return this.#size >= MAX_RESULTS;
  }

  add(
    line: ClaimedLine,
    batch: DispatchedBatch,
    requestId: string,
    result: LineResult,
    listener: ResultListener,
  ): void {
    const ofBatch = this.#open.get(batch.id) ?? new Set();
    this.#open.set(batch.id, ofBatch);
    const committing = this.#commit(line, batch, requestId, result).then((left) => {
      ofBatch.delete(committing);
      if (ofBatch.size === 0) this.#open.delete(batch.id);
      this.#size--;
      if (typeof left === "number") listener.committed(left);
      else if (left !== null) listener.refused(left);
      if (this.#size === MAX_RESULTS - 1) this.#deps.roomAgain();
    });
    ofBatch.add(committing);
    this.#size++;
  }

  /** Resolves when every result of the batch that was added until now is stored or given up. */
  async settled(batchId: string): Promise<void> {
    await Promise.all(this.#open.get(batchId) ?? []);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#open.values()].flatMap((ofBatch) => [...ofBatch]));
  }

  /** The lines that are left, or why the result was refused; null when the claim is stale or the server ends. */
  async #commit(
    line: ClaimedLine,
    batch: DispatchedBatch,
    requestId: string,
    result: LineResult,
  ): Promise<number | StoreErrorCode | null> {
    const { store, ledger, observer, log, model } = this.#deps;
    const { batchId, number, attempt } = line;
    const outcome = outcomeOf(requestId, result);
    const row = this.#ledgerRow(line, batch, result);
    await this.#gathered();
    for (;;) {
      try {
        failpoint("commit.before");
        const stored = await store.claims.commit({ claim: { batchId, number, attempt }, outcome, ledger: row });
        failpoint("commit.after");
        if (stored.outcome === "stale") return null;
        observer.linesEnded(model, batch.endpoint, outcome.state, 1);
        if (row !== null) ledger.committed(row);
        return stored.remaining;
      } catch (error) {
        const code = error instanceof StoreError ? error.code : "internal";
        const retry = error instanceof StoreError && error.retryable && !this.#stopped;
        if (code !== "closed") log.error({ batch: batchId, line: number, code, retry }, "A result could not be stored");
        if (!retry) return code === "constraint" || code === "internal" ? code : null;
        await wait(RETRY_MS);
      }
    }
  }

  #gathered(): Promise<void> {
    this.#gathering ??= wait(GATHER_MS).then(() => {
      this.#gathering = null;
    });
    return this.#gathering;
  }

  #ledgerRow({ batchId, number }: ClaimedLine, { owner, keyId, endpoint }: DispatchedBatch, result: LineResult) {
    if (result.how !== "answered" || result.usage === null) return null;
    const use = { owner, keyId, endpoint, model: this.#deps.model, version: result.version, ...result.usage };
    return this.#deps.ledger.lineRow(use, { batchId, number });
  }
}

function outcomeOf(requestId: string, result: LineResult): Outcome {
  if (result.how === "timed_out") {
    const body = lineError("request_timeout", result.message);
    return { state: "failed", kind: "error", requestId: null, statusCode: null, body };
  }
  if (result.how === "given_up") {
    return {
      state: "failed",
      kind: "error",
      requestId,
      statusCode: GIVEN_UP.status,
      body: JSON.stringify(GIVEN_UP.body),
    };
  }
  const { statusCode, body } = result;
  if (statusCode < 400) return { state: "done", kind: "output", requestId, statusCode, body };
  return { state: "failed", kind: "error", requestId, statusCode, body };
}
