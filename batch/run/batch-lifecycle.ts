import { setTimeout as wait } from "node:timers/promises";
import type { FileStore } from "../../files/file-store.ts";
import { lineError } from "../../openapi/resources/batch-errors.ts";
import { type DeadlineClock, epochSeconds } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { Unanswered } from "../../store/tables/background.ts";
import type { FileRow } from "../../store/tables/files.ts";
import type { NewEvent } from "../../store/tables/outbox.ts";
import type { ResultKind } from "../../store/tables/results.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import type { LineDispatcher } from "../lines/line-dispatcher.ts";
import type { LineObserver } from "../lines/line-observer.ts";
import type { BatchValidation } from "../validation/batch-validation.ts";
import { removeLines } from "../validation/line-removal.ts";
import { restoreResults, writeResults } from "./result-files.ts";

export type BatchEvent = "batch.completed" | "batch.failed" | "batch.expired" | "batch.cancelled";

export interface BatchLifecycleDeps {
  store: Pick<Store, "batches" | "lines" | "results" | "files">;
  files: Pick<FileStore, "pathOf" | "write" | "place" | "check" | "withdraw" | "restore">;
  dispatcherOf: (model: string) => LineDispatcher | undefined;
  validation: Pick<BatchValidation, "run">;
  /** The events of a batch's end, one for each webhook that is subscribed to them. */
  events: (type: BatchEvent, batchId: string) => NewEvent[];
  /** The end of the background response that the batch was to run, unless a line has ended it. */
  responseEnd: (type: BatchEvent, batchId: string, reason: string) => Unanswered | null;
  /** Called when events are in the outbox. */
  eventsQueued: () => void;
  /** Milliseconds for which lines in the engine may run on when their batch is cancelled or expires. */
  graceMs: number;
  clock: DeadlineClock;
  log: Log;
  observer: LineObserver;
}

/** Rows of lines or results that one statement ends or removes. */
const ROWS = 500;
/** Milliseconds before the first retry of a failed step; doubled for each further one. */
const FIRST_RETRY_MS = 500;
/** Milliseconds before a retry at most. */
const MAX_RETRY_MS = 30_000;

const CANCELLED = lineError("batch_cancelled", "This request was not executed because the batch was cancelled.");
const EXPIRED = lineError("batch_expired", "This request could not be executed before the completion window expired.");
/** Of a background response whose line ended without an answer. */
const RESPONSE_FAULTS = {
  completed: "The server failed at this response several times, or it took too long.",
  cancelled: "The response was cancelled.",
  expired: "This response could not be generated before its completion window expired.",
};

/**
 * Runs one batch through its statuses, from any of them. Each step reads the row and does the work of its status; it can be
 * taken again from its beginning after a crash or a failure.
 *
 * | status | step |
 * |---|---|
 * | validating | validate and index the file → in_progress or failed; past the deadline → expired |
 * | in_progress | run the lines until none is left → finalizing; past the deadline → end the rest, expired |
 * | cancelling | end the rest → cancelled |
 * | finalizing | write the files → completed |
 * | terminal | remove the rows of lines and results |
 */
export class BatchLifecycle {
  readonly id: string;
  readonly #deps: BatchLifecycleDeps;
  /** Aborts a wait of the present step, because the row may have changed. */
  #rechecking = new AbortController();
  /** Aborts every step. */
  readonly #stopping = new AbortController();
  /** Unix seconds at which the present step is over; null for a step without a deadline. */
  #deadline: number | null = null;
  /** The model that is not served here and for which the batch waits. */
  missing: string | null = null;
  /** True once this lifecycle has read its result files back. */
  #filesChecked = false;

  constructor(id: string, deps: BatchLifecycleDeps) {
    this.id = id;
    this.#deps = deps;
  }

  /** Reads the batch's row again: it was cancelled, or its deadline has passed. */
  recheck(): void {
    this.#rechecking.abort();
  }

  /** Ends work whose deadline has passed; to be called about every second. */
  checkDeadline(): void {
    if (this.#deadline === null || !this.#isOver(this.#deadline)) return;
    this.#deadline = null;
    this.recheck();
  }

  stop(): void {
    this.#stopping.abort();
    this.recheck();
  }

  /** Resolves when the batch is terminal and cleaned up, or after `stop`. */
  async run(): Promise<void> {
    const stopping = this.#stopping.signal;
    for (let failures = 0; !stopping.aborted; ) {
      this.#rechecking = new AbortController();
      const rechecking = this.#rechecking.signal;
      try {
        if (await this.#step()) return;
        failures = 0;
      } catch (error) {
        if (stopping.aborted) return;
        if (rechecking.aborted && isAbort(error)) continue;
        const retryInMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures++, 10));
        this.#deps.log.error({ batch: this.id, err: error, retryInMs }, "A step of a batch failed; it is taken again");
        await wait(retryInMs, undefined, { signal: rechecking }).catch(() => {});
      }
    }
  }

  /** Resolves with true when the batch is terminal and cleaned up. */
  async #step(): Promise<boolean> {
    const batch = await this.#deps.store.batches.find({ id: this.id });
    if (batch === null) return true;
    const begins = batch.status === "validating" || batch.status === "in_progress";
    const over = begins && this.#isOver(batch.expiresAt);
    this.#deadline = begins && !over ? batch.expiresAt : null;
    switch (batch.status) {
      case "validating":
        if (over) await this.#end(batch, "expired");
        else await this.#deps.validation.run(batch, this.#rechecking.signal);
        return false;
      case "in_progress":
        if (over) await this.#end(batch, "expired");
        else await this.#runLines(batch);
        return false;
      case "cancelling":
        await this.#end(batch, "cancelled");
        return false;
      case "finalizing":
        await this.#finalize(batch, "completed");
        return false;
      default:
        await this.#cleanUp(batch);
        return true;
    }
  }

  #isOver(deadline: number): boolean {
    const { clock } = this.#deps;
    return clock.settled && deadline <= epochSeconds(clock);
  }

  async #runLines(batch: BatchRow): Promise<void> {
    const { store, clock, dispatcherOf, files } = this.#deps;
    const { id, owner, keyId, endpoint, expiresAt, inputFileId } = batch;
    if (await store.batches.beginFinalizing({ id, now: epochSeconds(clock) })) return;
    const { signal } = this.#rechecking;
    const rechecking = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (signal.aborted) resolve();
    });
    // Without its model the batch waits until a server serves the model again, or its window ends.
    const dispatcher = batch.model === null ? undefined : dispatcherOf(batch.model);
    this.missing = dispatcher === undefined ? batch.model : null;
    const inputPath = files.pathOf(inputFileId);
    const ran = dispatcher?.run({ id, owner, keyId, endpoint, expiresAt, inputPath });
    await (ran === undefined ? rechecking : Promise.race([ran, rechecking]));
  }

  /** Ends the lines that have not ended, and the batch. */
  async #end(batch: BatchRow, status: "cancelled" | "expired"): Promise<void> {
    const { store, dispatcherOf, graceMs, observer } = this.#deps;
    const { id, model, endpoint } = batch;
    if (batch.inProgressAt === null) {
      await removeLines(store, this.id, this.#stopping.signal);
    } else {
      if (model !== null) await dispatcherOf(model)?.withdraw(id, graceMs);
      const error = status === "cancelled" ? CANCELLED : EXPIRED;
      for (;;) {
        this.#stopping.signal.throwIfAborted();
        const ended = await store.lines.end({ batchId: id, state: status, running: true, error, limit: ROWS });
        if (ended === 0) break;
        if (model !== null) observer.linesEnded(model, endpoint, status, ended);
      }
    }
    await this.#finalize(batch, status);
  }

  async #finalize(batch: BatchRow, status: "completed" | "cancelled" | "expired"): Promise<void> {
    const { store, clock, events, responseEnd, dispatcherOf, log } = this.#deps;
    const { id, model } = batch;
    if (model !== null) await dispatcherOf(model)?.withdraw(id, 0);
    failpoint("finalize.begun");
    const placed: FileRow[] = [];
    const write = async (kind: ResultKind) => {
      const file = await writeResults(this.#deps, batch, kind, this.#stopping.signal);
      if (file !== null) placed.push(file);
      return file;
    };
    try {
      const outputFile = await write("output");
      const errorFile = await write("error");
      failpoint("finalize.before-commit");
      const now = epochSeconds(clock);
      const queued = events(`batch.${status}`, id);
      const response = responseEnd(`batch.${status}`, id, RESPONSE_FAULTS[status]);
      const ended = await store.batches.finalize({ id, status, now, outputFile, errorFile, events: queued, response });
      failpoint("finalize.after-commit");
      this.#filesChecked = ended;
      if (!ended) throw new Error(`Batch ${id} cannot become ${status} from its present status`);
      this.#deps.eventsQueued();
      log.info({ batch: id, status, seconds: now - batch.createdAt }, "Batch ended");
    } catch (error) {
      await this.#withdraw(placed);
      throw error;
    }
  }

  /**
   * Removes result files whose commit failed: each try writes new ones, and a full disk needs their room. A commit whose
   * answer was lost may have given them rows, so the batch's row is read first. While it can't be read the files stay, and
   * the next start removes files without a row.
   */
  async #withdraw(placed: readonly FileRow[]): Promise<void> {
    const { store, files } = this.#deps;
    const batch = await store.batches.find({ id: this.id }).catch(() => null);
    if (batch === null) return;
    for (const file of placed) {
      if (file.id !== batch.outputFileId && file.id !== batch.errorFileId) await files.withdraw(file);
    }
  }

  /** Removes the rows whose content the result files have. */
  async #cleanUp(batch: BatchRow): Promise<void> {
    const { store } = this.#deps;
    const stopping = this.#stopping.signal;
    if (!this.#filesChecked) await restoreResults(this.#deps, batch, stopping);
    while ((await store.results.remove({ batchId: this.id, limit: ROWS })) > 0) {
      failpoint("cleanup.half");
      stopping.throwIfAborted();
    }
    await removeLines(store, this.id, this.#stopping.signal);
  }
}

/** True for the rejection of `fs`, streams and timers after their signal aborted. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
