import type { ModelNames } from "../../engine/model-names.ts";
import type { FileStore } from "../../files/file-store.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { batchError } from "../../openapi/resources/batch-errors.ts";
import type { BatchError } from "../../openapi/resources/batches.ts";
import { type DeadlineClock, epochSeconds } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import { SerialQueue } from "../../platform/serial-queue.ts";
import type { Store } from "../../store/store.ts";
import type { Unanswered } from "../../store/tables/background.ts";
import type { NewEvent } from "../../store/tables/outbox.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import { inputRow } from "./input-row.ts";
import { removeLines } from "./line-removal.ts";
import type { ValidateRules } from "./line-validator.ts";
import type { ModelBounds } from "./model-bounds.ts";
import type { TokenQuota } from "./token-quota.ts";
import { type Validate, ValidationLost } from "./validation-job.ts";

export interface BatchValidationDeps {
  store: Pick<Store, "batches" | "lines" | "files">;
  files: Pick<FileStore, "pathOf">;
  /** Names of the models that are served, or will be; they change while the server runs. */
  models: () => readonly string[];
  names: ModelNames;
  /** The models that requests with this key may use; null for all. */
  modelsOf: (keyId: string | null) => Promise<readonly string[] | null>;
  /** Of the models that are loaded, or were, by their own names. */
  bounds: () => ReadonlyMap<string, ModelBounds>;
  validate: Validate;
  quota: Pick<TokenQuota, "fault">;
  /** The events of a batch's failure, one for each webhook that is subscribed to them. */
  failedEvents: (batchId: string) => NewEvent[];
  /** The end of the background response that a batch with this fault was to run. */
  failedResponse: (batchId: string, reason: string) => Unanswered | null;
  /** Called when events are in the outbox. */
  eventsQueued: () => void;
  limits: RequestLimits;
  maxLines: number;
  maxLineBytes: number;
  clock: DeadlineClock;
  log: Log;
}

/** Errors of a file that are listed one by one. */
const MAX_ERRORS = 100;
/** Lost validations after which a batch fails. */
export const MOST_LOST = 3;
/** Bytes up to which a file counts as small: its index in memory is small too. */
const SMALL_BYTES = 1024 ** 2;
/** Small files that are validated at a time. They do not wait for large ones. */
const SMALL_AT_ONCE = 16;
/** Large files that are validated at a time: they bound the memory of the process. */
const LARGE_AT_ONCE = 2;
/** Cost of a validation beside the bytes of its file, in bytes. */
const START_BYTES = 64 * 1024;

/**
 * Takes batches from `validating` to `in_progress` or `failed`, in the order of a fair queue over owners by bytes; of each
 * owner one file at a time. Each attempt is counted durably before it begins, so that a file which kills its validation
 * process, or the server, is recognized: after the first lost attempt it is validated in a process of its own, and after
 * the third it is not validated again. An attempt that ended without a verdict for another reason (cancelled, a full disk,
 * the end of the server) is not counted.
 */
export class BatchValidation {
  readonly #deps: BatchValidationDeps;
  readonly #small = new SerialQueue(SMALL_AT_ONCE);
  readonly #large = new SerialQueue(LARGE_AT_ONCE);
  readonly #suspects = new SerialQueue(1);
  /** By batch: the number of lost attempts, where the store could not take the count of an attempt back. */
  readonly #lost = new Map<string, number>();

  constructor(deps: BatchValidationDeps) {
    this.#deps = deps;
  }

  /** Rejects when the signal aborts, and for a failure that may pass. */
  async run(batch: BatchRow, signal: AbortSignal): Promise<void> {
    const { id, owner } = batch;
    const file = await inputRow(this.#deps, batch);
    if ("code" in file) return this.#fail(batch, null, [file]);
    const lost = this.#lost.get(id) ?? batch.validations;
    if (lost >= MOST_LOST) return this.#fail(batch, null, [LOST]);
    const bySize = file.bytes <= SMALL_BYTES ? this.#small : this.#large;
    const queue = lost > 0 ? this.#suspects : bySize;
    await queue.take(owner, START_BYTES + file.bytes, () => this.#counted(batch, lost, signal), signal);
  }

  async #counted(batch: BatchRow, lost: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#deps;
    const { id } = batch;
    await removeLines(store, id, signal);
    if (!(await store.batches.countValidations({ id, count: lost + 1 }))) return;
    try {
      await this.#validate(batch, lost > 0, signal);
    } catch (error) {
      if (error instanceof ValidationLost) {
        const about = { batch: id, lost: lost + 1, most: MOST_LOST, reason: error.message };
        log.warn(about, "A validation was lost; its file is validated alone");
        return;
      }
      this.#lost.set(id, lost);
      // While the store is not writable, the map has the count.
      await store.batches.countValidations({ id, count: lost }).then(
        () => this.#lost.delete(id),
        () => {},
      );
      throw error;
    }
    this.#lost.delete(id);
  }

  async #validate(batch: BatchRow, alone: boolean, signal: AbortSignal): Promise<void> {
    const { store, files, validate, clock, log } = this.#deps;
    const { id, owner, inputFileId } = batch;
    const startedAt = clock.now();
    const outcome = await validate(
      { path: files.pathOf(inputFileId), owner, rules: await this.#rulesOf(batch), alone },
      async (lines) => {
        await store.lines.insert({ batchId: id, lines });
        failpoint("validate.lines");
      },
      signal,
    );
    if (!outcome.valid) return this.#fail(batch, outcome.model, outcome.errors);
    failpoint("validate.indexed");
    const { lines, model } = outcome;
    const fault = await this.#deps.quota.fault(batch, model);
    if (fault !== null) return this.#fail(batch, model, [fault]);
    const began = await store.batches.begin({ id, now: epochSeconds(clock), model });
    const ms = Math.round(clock.now() - startedAt);
    if (began) log.info({ batch: id, model, lines, ms }, "Batch validated");
  }

  async #rulesOf({ endpoint, keyId }: BatchRow): Promise<ValidateRules> {
    const { limits, maxLines, maxLineBytes, models, names, modelsOf, bounds } = this.#deps;
    const allowed = await modelsOf(keyId);
    return {
      endpoint,
      limits,
      models: allowed === null ? models() : models().filter((model) => allowed.includes(model)),
      names,
      bounds: bounds(),
      maxLines,
      maxLineBytes,
      maxErrors: MAX_ERRORS,
    };
  }

  async #fail({ id }: BatchRow, model: string | null, errors: BatchError[]): Promise<void> {
    const { store, clock, failedEvents, failedResponse, eventsQueued, log } = this.#deps;
    const list = JSON.stringify({ object: "list", data: errors });
    const response = failedResponse(id, errors[0]?.message ?? "The request is not valid.");
    const row = { id, now: epochSeconds(clock), errors: list, model, events: failedEvents(id), response };
    if (!(await store.batches.fail(row))) return;
    eventsQueued();
    log.info({ batch: id, errors: errors.length }, "Batch failed validation");
  }
}

const LOST = batchError(
  "validation_failed",
  `The input file could not be checked: ${MOST_LOST} times the process that checks it ended before it was done. ` +
    "Split the file or shorten its longest lines, and create the batch again.",
);
