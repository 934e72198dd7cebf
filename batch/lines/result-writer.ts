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
import type { LaneBatch } from "./active-batch.ts";
import type { Executed } from "./line-execution.ts";
import type { LineObserver } from "./line-observer.ts";

export interface ResultWriterDeps {
  model: string;
  store: Pick<Store, "claims">;
  ledger: Pick<UsageLedger, "lineRow" | "lineRates" | "committed">;
  observer: LineObserver;
  log: Log;
}

/** An answer, or that there will be none; `given_up`: the program failed at the line too often. */
export type Ended = Extract<Executed, { how: "answered" | "timed_out" }> | { how: "given_up" };

/** What becomes of a result. */
export interface Hearer {
  /** The line has ended, and so many of its batch have not. */
  committed(left: number): void;
  /** The store will never take it, and the line is still claimed. */
  refused(code: StoreErrorCode): void;
}

const RETRY_MS = 1000;
/** A commit writes the same pages whether it holds one result or ten, and nobody waits for it. */
const GATHER_MS = 25;

const GIVEN_UP = new ApiError("internal_error", "The server failed at this request several times; its log says why.");

/**
 * Results on their way to the store. Nobody waits for one of them: those that come within a few milliseconds go to
 * it together, and it takes them in one transaction. One that the disk refuses is tried again until it is taken or the server ends; then its line runs again.
 */
export class ResultWriter {
  readonly #deps: ResultWriterDeps;
  readonly #open = new Map<string, Set<Promise<void>>>();
  /** Resolves when those that gather now go to the store. */
  #gathering: Promise<void> | null = null;
  #size = 0;
  #stopped = false;

  constructor(deps: ResultWriterDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#size;
  }

  add(line: ClaimedLine, batch: LaneBatch, requestId: string, ended: Ended, hearer: Hearer): void {
    const ofBatch = this.#open.get(batch.id) ?? new Set();
    this.#open.set(batch.id, ofBatch);
    const committing = this.#commit(line, batch, requestId, ended).then((left) => {
      ofBatch.delete(committing);
      if (ofBatch.size === 0) this.#open.delete(batch.id);
      this.#size--;
      if (typeof left === "number") hearer.committed(left);
      else if (left !== null) hearer.refused(left);
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

  /** How many lines are left, or why this one's result was refused; null when it is no longer this claim's, or too late. */
  async #commit(
    line: ClaimedLine,
    batch: LaneBatch,
    requestId: string,
    ended: Ended,
  ): Promise<number | StoreErrorCode | null> {
    const { store, ledger, observer, log, model } = this.#deps;
    const { batchId, number, attempt } = line;
    const outcome = outcomeOf(requestId, ended);
    const row = this.#ledgerRow(line, batch, ended);
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

  #ledgerRow({ batchId, number }: ClaimedLine, { owner, keyId, endpoint }: LaneBatch, ended: Ended) {
    if (ended.how !== "answered" || ended.usage === null) return null;
    const use = { owner, keyId, endpoint, model: this.#deps.model, version: ended.version, ...ended.usage };
    return this.#deps.ledger.lineRow(use, { batchId, number });
  }
}

function outcomeOf(requestId: string, ended: Ended): Outcome {
  if (ended.how === "timed_out") {
    const body = lineError("request_timeout", ended.message);
    return { state: "failed", kind: "error", requestId: null, statusCode: null, body };
  }
  if (ended.how === "given_up") {
    return {
      state: "failed",
      kind: "error",
      requestId,
      statusCode: GIVEN_UP.status,
      body: JSON.stringify(GIVEN_UP.body),
    };
  }
  const { statusCode, body } = ended;
  if (statusCode < 400) return { state: "done", kind: "output", requestId, statusCode, body };
  return { state: "failed", kind: "error", requestId, statusCode, body };
}
