import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ApiError, invalidRequest } from "../openapi/api-error.ts";
import { ownerErased } from "../openapi/owner-erased.ts";
import type { FilePurpose } from "../openapi/resources/files.ts";
import { type Clock, epochSeconds } from "../platform/clock.ts";
import { failpoint } from "../platform/failpoint.ts";
import type { Log } from "../platform/log.ts";
import { isObjectId, objectId } from "../platform/object-id.ts";
import type { Store } from "../store/store.ts";
import type { FileRow } from "../store/tables/files.ts";
import type { Page } from "../store/types/cursor-page.ts";
import { MIN_STORED_BYTES } from "../store/types/storage.ts";
import { mayBeCommitted } from "../store/types/store-error.ts";
import { DiskSpace, type FreeBytes, fileRefused, overQuota, writeFailure } from "./disk-space.ts";
import { sync } from "./fsync.ts";
import { type ByteLimit, Inbox, type Incoming } from "./incoming.ts";
import { checkForPurpose, defaultLifetime } from "./purpose-rules.ts";
import { reconcile } from "./reconcile.ts";

export interface FileStoreDeps {
  /** An open store, so this process holds the data directory's lock. */
  store: Pick<Store, "files" | "uploads">;
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Bytes of the disk that stay free of clients' files. */
  diskReserve: number;
  /** Most bytes of one owner's files and open uploads; null is no bound. */
  storageQuota: number | null;
  /** Most files that one owner and its jobs may add; result files are not limited. */
  maxFiles: number;
  freeBytes?: FreeBytes;
}

export interface FileMeta {
  owner: string;
  purpose: FilePurpose;
  /** As given by the client; never part of a path. */
  filename: string;
  /** Seconds from now; null for the purpose's default. */
  expiresAfter: number | null;
  /** As for `admit`. */
  storageBytes?: number | null;
  /** The stored API key of the request. */
  keyId?: string | null;
}

/** Rows per round of a sweep. */
const SWEEP_ROWS = 100;
/** Seconds for which a removed file can still be the `after` of a list. */
const REMOVED_KEPT_SECONDS = 86_400;

/**
 * The files of all owners: rows in the store, bytes in `<data-dir>/files/<id>`.
 *
 * A file is added in two steps. `receive` writes and syncs bytes without an id; `add` gives them one: rename, sync of
 * the directory, row. Removal goes the other way: row, then bytes. At any crash a row thus has its whole file, and
 * bytes without a row are removed at the next start.
 */
export class FileStore {
  readonly #deps: FileStoreDeps;
  readonly #dir: string;
  readonly #space: DiskSpace;
  readonly #inbox: Inbox;

  private constructor(deps: FileStoreDeps) {
    this.#deps = deps;
    this.#dir = join(deps.dataDir, "files");
    this.#space = new DiskSpace(deps.dataDir, deps.diskReserve, deps.freeBytes);
    this.#inbox = new Inbox(join(deps.dataDir, "tmp"), this.#space);
  }

  /** Empties `tmp` and reconciles rows with the disk. No file may be written before it resolves. */
  static async open(deps: FileStoreDeps): Promise<FileStore> {
    const files = new FileStore(deps);
    await files.#inbox.empty();
    const made = await mkdir(files.#dir, { recursive: true, mode: 0o700 });
    await reconcile({ dir: files.#dir, made: made !== undefined, files: deps.store.files, log: deps.log });
    return files;
  }

  /** Path of a file's bytes. Throws for an invalid file id. */
  pathOf(id: string): string {
    if (!isObjectId("file-", id)) throw new Error("not a file id");
    return join(this.#dir, id);
  }

  /**
   * Throws 507 when the announced `bytes` do not fit on the disk, or into the owner's quota: the server's own, and with
   * `storageBytes` that of the client's key.
   */
  async admit(owner: string, bytes: number, storageBytes: number | null = null): Promise<void> {
    await this.checkSpace(bytes);
    const left = await this.#quotaLeft(owner, storageBytes);
    if (left !== null && Math.max(bytes, MIN_STORED_BYTES) > left.bytes) throw left.error();
  }

  /**
   * Writes at most `limit` bytes of a client to disk. Throws the limit's error, 507, or the source's error, and leaves
   * nothing behind then. The result must be added or discarded.
   */
  async receive(
    owner: string,
    source: AsyncIterable<Uint8Array>,
    limit: ByteLimit,
    storageBytes: number | null = null,
  ): Promise<Incoming> {
    const left = await this.#quotaLeft(owner, storageBytes);
    return this.#inbox.write(source, left !== null && left.bytes < limit.bytes ? left : limit, true);
  }

  /** Throws 507 when `bytes` more do not fit on the disk beside the reserve. */
  checkSpace(bytes: number): Promise<void> {
    return this.#space.check(bytes);
  }

  /** Writes bytes of the server itself: without a quota, and with `reserve` false (results) also into the reserve. */
  write(source: AsyncIterable<Uint8Array>, { reserve }: { reserve: boolean }): Promise<Incoming> {
    return this.#inbox.write(source, null, reserve);
  }

  discard(incoming: Incoming): Promise<void> {
    return this.#inbox.discard(incoming);
  }

  /** Adds received bytes as a file. Throws 400, 413 or 507, and discards them then. */
  async add(incoming: Incoming, meta: FileMeta): Promise<FileRow> {
    const row = await this.stage(incoming, meta);
    const quotaBytes = this.quota(meta.storageBytes ?? null);
    const { store, maxFiles } = this.#deps;
    try {
      const outcome = await store.files.insert({ row, keyId: meta.keyId ?? null, quotaBytes, maxFiles });
      if (outcome === "erased") throw ownerErased();
      if (outcome !== "inserted") throw fileRefused(outcome, { quotaBytes, maxFiles });
    } catch (error) {
      if (!mayBeCommitted(error)) await this.withdraw(row);
      throw error;
    }
    return row;
  }

  /**
   * Checks bytes for their purpose, and places them: see `place`. Throws 400, 413 or 507, and discards them then.
   */
  async stage(incoming: Incoming, meta: FileMeta): Promise<FileRow> {
    try {
      checkForPurpose(meta.purpose, meta.filename, incoming.bytes);
    } catch (error) {
      await this.discard(incoming);
      throw error;
    }
    return this.place(incoming, meta);
  }

  /**
   * Renames bytes to their final path and syncs the directory. The caller inserts the row together with others that
   * belong to it, or withdraws it; for a single file see `add`.
   */
  async place(incoming: Incoming, meta: FileMeta): Promise<FileRow> {
    const { owner, purpose, filename } = meta;
    const { bytes, sha256 } = incoming;
    const createdAt = epochSeconds(this.#deps.clock);
    const lifetime = meta.expiresAfter ?? defaultLifetime(purpose);
    const expiresAt = lifetime === null ? null : createdAt + lifetime;
    const row: FileRow = { id: objectId("file-"), owner, purpose, filename, bytes, sha256, createdAt, expiresAt };
    try {
      await rename(incoming.path, this.pathOf(row.id));
      await sync(this.#dir);
    } catch (error) {
      await this.discard(incoming);
      await this.withdraw(row);
      throw writeFailure(error);
    }
    return row;
  }

  /** Restores a file's missing bytes. False, with the bytes discarded, when they differ from the row's. */
  async restore(incoming: Incoming, { id, bytes, sha256 }: FileRow): Promise<boolean> {
    if (incoming.bytes !== bytes || incoming.sha256 !== sha256) {
      await this.discard(incoming);
      return false;
    }
    await rename(incoming.path, this.pathOf(id));
    await sync(this.#dir);
    return true;
  }

  /** Removes the bytes of a placed file without a row. */
  withdraw(row: FileRow): Promise<void> {
    return this.#unlink(row.id);
  }

  /** Throws 404, also for another owner's file. */
  async get(owner: string, id: string): Promise<FileRow> {
    const row = isObjectId("file-", id) ? await this.#deps.store.files.get({ owner, id }) : null;
    if (row === null) throw noSuchFile(id);
    return row;
  }

  /** Throws 400 for a cursor that names none of the owner's files. */
  async list(args: {
    owner: string;
    purpose: string | null;
    limit: number;
    after: string | null;
    order: "asc" | "desc";
  }): Promise<Exclude<Page<FileRow>, string>> {
    const page = await this.#deps.store.files.list(args);
    if (page === "unknown_cursor") {
      throw invalidRequest(
        "invalid_value",
        "after",
        `Invalid 'after': there is no file '${args.after?.slice(0, 64)}'.`,
      );
    }
    return page;
  }

  /**
   * Removes the row, the results from which the file was written, and the bytes. Throws 404, or 409 while a batch reads
   * it.
   */
  async remove(owner: string, id: string): Promise<void> {
    const outcome = isObjectId("file-", id) ? await this.#deps.store.files.remove({ owner, id }) : "absent";
    if (outcome === "absent") throw noSuchFile(id);
    if (outcome === "in_use") throw fileInUse(id);
    await this.#unlink(id);
  }

  /** Removes expired files, except the inputs of open batches. Returns how many. */
  async removeExpired(now: number): Promise<number> {
    let removed = 0;
    for (let ids: string[] | null = null; ids === null || ids.length === SWEEP_ROWS; ) {
      ids = await this.#deps.store.files.removeExpired({ now, limit: SWEEP_ROWS });
      for (const id of ids) await this.#unlink(id);
      removed += ids.length;
    }
    return removed;
  }

  /** Removes the bytes of files whose rows were removed. */
  async unlink(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#unlink(id);
  }

  /** Removes list positions of files that were removed over a day ago. Returns how many. */
  async forgetRemoved(now: number): Promise<number> {
    let forgotten = 0;
    for (let last = SWEEP_ROWS; last === SWEEP_ROWS; forgotten += last) {
      last = await this.#deps.store.files.forgetRemoved({ before: now - REMOVED_KEPT_SECONDS, limit: SWEEP_ROWS });
    }
    return forgotten;
  }

  /** Verifies the bytes on disk: true when they match the row. Rejects when the signal aborts. */
  async check(row: FileRow, signal?: AbortSignal): Promise<boolean> {
    if ((await stat(this.pathOf(row.id)).catch(() => null))?.size !== row.bytes) return false;
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(this.pathOf(row.id), { signal })) hash.update(chunk);
    return hash.digest("hex") === row.sha256;
  }

  get maxFiles(): number {
    return this.#deps.maxFiles;
  }

  /** Most bytes of an owner's files for a key with this storage limit; null is no bound. */
  quota(storageBytes: number | null): number | null {
    const { storageQuota } = this.#deps;
    if (storageQuota === null || storageBytes === null) return storageQuota ?? storageBytes;
    return Math.min(storageQuota, storageBytes);
  }

  async #quotaLeft(owner: string, storageBytes: number | null): Promise<ByteLimit | null> {
    const quota = this.quota(storageBytes);
    if (quota === null) return null;
    return { bytes: quota - (await this.#deps.store.files.storage(owner)).bytes, error: () => overQuota(quota) };
  }

  async #unlink(id: string): Promise<void> {
    failpoint("file.unlink");
    await unlink(this.pathOf(id)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT")
        this.#deps.log.error({ id, code: error.code }, "A file could not be removed from disk");
    });
  }
}

function noSuchFile(id: string): ApiError {
  const message = `No such File object: ${id.slice(0, 64)}`;
  return new ApiError("not_found", message, { param: "id" });
}

function fileInUse(id: string): ApiError {
  const message = `The file '${id}' is the input of a batch that is not over. Cancel the batch or wait for its end.`;
  return new ApiError("file_in_use", message);
}
