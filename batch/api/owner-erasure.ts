import { setTimeout as wait } from "node:timers/promises";
import type { FileStore } from "../../files/file-store.ts";
import type { UploadStore } from "../../files/upload-store.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { Erasure } from "../../store/tables/erasures.ts";
import type { Batches } from "./batches.ts";

export interface OwnerErasuresDeps {
  store: Pick<Store, "erasures">;
  batches: Pick<Batches, "cancel">;
  files: Pick<FileStore, "unlink">;
  uploads: Pick<UploadStore, "unlink">;
  /** Awaits the change that ends the keys of an owner; from then on they are refused. */
  revoked: (owner: string, change: Promise<Erasure>) => Promise<Erasure>;
  /** Called when all rows of the owner are removed. */
  erased: (owner: string) => void;
  clock: Clock;
  log: Log;
}

/** Rows that one statement removes. */
const ROWS = 100;
/** Milliseconds between two looks while batches end: lines in the engine have a grace of seconds. */
const LOOK_MS = 200;
/** Milliseconds before a failed erasure is tried again. */
const RETRY_MS = 5000;

/**
 * Erases owners: their keys, batches, files, uploads, results, rows of the ledger and all other data that was stored of them
 * until the request for erasure. Sums by hour and day stay. Every step can be repeated, and a start continues where the last
 * server ended. Bytes are removed before their rows, unlike in the file store: a start that finds no rows at all keeps bytes
 * without a row.
 */
export class OwnerErasures {
  readonly #deps: OwnerErasuresDeps;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(deps: OwnerErasuresDeps) {
    this.#deps = deps;
  }

  /** Continues the erasures that the last server left. */
  async start(): Promise<void> {
    for (const { owner } of await this.#deps.store.erasures.list()) this.#run(owner);
  }

  /** Durable when it resolves: the owner's keys are revoked, and the removal of all data follows. */
  async request(owner: string): Promise<Erasure> {
    const { store, revoked, clock, log } = this.#deps;
    const requestedAt = epochSeconds(clock);
    const erasure = await revoked(owner, store.erasures.begin({ owner, requestedAt }));
    log.info({ owner }, "An owner is being erased");
    failpoint("erase.begun");
    this.#run(owner);
    return erasure;
  }

  /** Null for an owner that is not being erased. */
  get(owner: string): Promise<Erasure | null> {
    return this.#deps.store.erasures.get({ owner });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#running.values());
  }

  #run(owner: string): void {
    if (this.#running.has(owner) || this.#stopped.signal.aborted) return;
    this.#running.set(
      owner,
      this.#erase(owner).finally(() => this.#running.delete(owner)),
    );
  }

  async #erase(owner: string): Promise<void> {
    const { store, erased, log } = this.#deps;
    while (!this.#stopped.signal.aborted) {
      try {
        const erasure = await store.erasures.get({ owner });
        if (erasure === null) return;
        await this.#batches(erasure);
        await this.#files(erasure);
        await this.#rows(erasure);
        if (this.#stopped.signal.aborted || !(await store.erasures.end(erasure))) continue;
        erased(owner);
        log.info({ owner }, "An owner was erased");
      } catch (error) {
        log.error({ owner, err: error }, "An owner could not be erased; it is tried again");
        await this.#pause(RETRY_MS);
      }
    }
  }

  /** Cancels the batches that are not over, and removes each one when it is over and its lines are removed. */
  async #batches(erasure: Erasure): Promise<void> {
    const { store, files } = this.#deps;
    while (!this.#stopped.signal.aborted) {
      for (const id of await store.erasures.openBatches(erasure)) await this.#cancel(erasure.owner, id);
      const ended = await store.erasures.endedBatches({ ...erasure, limit: ROWS });
      await files.unlink(ended.fileIds);
      failpoint("erase.batches");
      await store.erasures.removeBatches(ended);
      if (ended.seqs.length > 0) continue;
      if (!(await store.erasures.hasBatches(erasure))) return;
      await this.#pause(LOOK_MS);
    }
  }

  async #cancel(owner: string, id: string): Promise<void> {
    await this.#deps.batches.cancel(owner, id).catch((error: unknown) => {
      // The batch ended in between.
      if (!(error instanceof ApiError)) throw error;
    });
  }

  async #files(erasure: Erasure): Promise<void> {
    const { store, files, uploads } = this.#deps;
    for (let removed = ROWS; removed === ROWS && !this.#stopped.signal.aborted; ) {
      const step = await store.erasures.removeUploads({ ...erasure, limit: ROWS });
      await uploads.unlink(step.partIds);
      removed = step.removed;
    }
    for (let removed = ROWS; removed === ROWS && !this.#stopped.signal.aborted; ) {
      const ids = await store.erasures.files({ ...erasure, limit: ROWS });
      await files.unlink(ids);
      failpoint("erase.files");
      await store.erasures.removeFiles({ ids });
      removed = ids.length;
    }
  }

  async #rows(erasure: Erasure): Promise<void> {
    const { store, clock } = this.#deps;
    while (!this.#stopped.signal.aborted) {
      const step = { ...erasure, now: epochSeconds(clock), limit: ROWS };
      if ((await store.erasures.removeRows(step)) === 0) return;
    }
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#stopped.signal }).catch(() => {});
  }
}
