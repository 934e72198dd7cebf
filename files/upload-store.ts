import { ApiError, invalidRequest } from "../openapi/api-error.ts";
import { ownerErased } from "../openapi/owner-erased.ts";
import { type FilePurpose, uploadPurpose } from "../openapi/resources/files.ts";
import { MAX_PARTS } from "../openapi/resources/uploads.ts";
import { type Clock, epochSeconds } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isObjectId, objectId } from "../platform/object-id.ts";
import type { Store } from "../store/store.ts";
import type { FileRow } from "../store/tables/files.ts";
import type { EndedUpload, PartRow, UploadRow } from "../store/tables/uploads.ts";
import { mayBeCommitted } from "../store/types/store-error.ts";
import { fileRefused, overQuota, tooManyUploads, writeFailure } from "./disk-space.ts";
import type { FileStore } from "./file-store.ts";
import type { Incoming } from "./incoming.ts";
import { checkForPurpose, MAX_PART_BYTES, MAX_UPLOAD_BYTES, tooLarge } from "./purpose-rules.ts";
import { UploadParts } from "./upload-parts.ts";

export interface UploadStoreDeps {
  store: Pick<Store, "files" | "uploads">;
  files: FileStore;
  dataDir: string;
  clock: Clock;
  log: Log;
}

export interface NewUpload {
  owner: string;
  filename: string;
  purpose: FilePurpose;
  /** Bytes of the whole file. */
  bytes: number;
  mimeType: string;
  /** Lifetime of the file in seconds from its creation; null for the purpose's default. */
  expiresAfter: number | null;
  /** Most bytes that the client's key may store; null is no bound, here and below. */
  storageBytes?: number | null;
  /** The stored API key of the request. */
  keyId?: string | null;
}

const LIFETIME_SECONDS = 3600;
/** Seconds after its expiry for which a terminal upload can be read, by a client that repeats its last call. */
const KEPT_SECONDS = 7 * 86_400;
/** Open uploads of one owner: without parts they use no storage. */
const MAX_OPEN = 1000;
const SWEEP_ROWS = 100;

/**
 * Files that are uploaded in parts, in any order and in parallel. The parts are on disk until `complete` has joined
 * them, so they survive a restart.
 *
 * | status | goes to | by |
 * |---|---|---|
 * | pending | completed, cancelled, expired | complete, cancel, the sweeper |
 * | completed, cancelled, expired | –; removed after a week | the sweeper |
 */
export class UploadStore {
  readonly #deps: UploadStoreDeps;
  readonly #parts: UploadParts;
  /** Running completions by upload: a second call waits for the first and gets the same file. */
  readonly #completing = new Map<string, Promise<unknown>>();

  private constructor(deps: UploadStoreDeps, parts: UploadParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /** No part may be added before it resolves. */
  static async open(deps: UploadStoreDeps): Promise<UploadStore> {
    return new UploadStore(deps, await UploadParts.open(deps));
  }

  /** Throws 400, 413 or 507. */
  async create(upload: NewUpload): Promise<UploadRow> {
    const { owner, filename, purpose, bytes, mimeType, expiresAfter, storageBytes, keyId } = upload;
    checkForPurpose(purpose, filename, bytes, "bytes");
    if (bytes > MAX_UPLOAD_BYTES) throw tooLarge("bytes", MAX_UPLOAD_BYTES);
    await this.#deps.files.admit(owner, bytes, storageBytes);
    const createdAt = epochSeconds(this.#deps.clock);
    const row: UploadRow = {
      id: objectId("upload_"),
      owner,
      filename,
      purpose,
      bytes,
      mimeType,
      fileExpiresAfter: expiresAfter,
      status: "pending",
      createdAt,
      expiresAt: createdAt + LIFETIME_SECONDS,
      fileId: null,
    };
    const outcome = await this.#deps.store.uploads.insert({ row, maxOpen: MAX_OPEN, keyId: keyId ?? null });
    if (outcome === "erased") throw ownerErased();
    if (outcome === "too_many") throw tooManyUploads(MAX_OPEN);
    return row;
  }

  /** Throws 404, also for another owner's upload. */
  async get(owner: string, id: string): Promise<UploadRow> {
    const row = isObjectId("upload_", id) ? await this.#deps.store.uploads.get({ owner, id }) : null;
    if (row === null) throw noSuchUpload(id);
    return row;
  }

  /** Checks a part before its bytes are read. Throws 404, 400 for a terminal upload, 507. */
  async admitPart(owner: string, id: string, bytes: number, storageBytes: number | null = null): Promise<void> {
    const upload = await this.get(owner, id);
    if (upload.status !== "pending") throw notPending(upload);
    await this.#deps.files.admit(owner, bytes, storageBytes);
  }

  receivePart(owner: string, source: AsyncIterable<Uint8Array>, storageBytes: number | null = null): Promise<Incoming> {
    const error = () => tooLarge("data", MAX_PART_BYTES);
    return this.#deps.files.receive(owner, source, { bytes: MAX_PART_BYTES, error }, storageBytes);
  }

  /** Adds received bytes as a part. Throws 404, 400 or 507, and discards them then. */
  async addPart(
    owner: string,
    uploadId: string,
    { path, bytes, md5 }: Incoming,
    storageBytes: number | null = null,
  ): Promise<PartRow> {
    const createdAt = epochSeconds(this.#deps.clock);
    const part: PartRow = { id: objectId("part_"), uploadId, bytes, md5, createdAt };
    try {
      await this.#parts.place(path, part.id);
      const quotaBytes = this.#deps.files.quota(storageBytes);
      const outcome = await this.#deps.store.uploads.addPart({
        owner,
        part,
        quotaBytes,
        maxParts: MAX_PARTS,
        now: createdAt,
      });
      if (outcome === "absent") throw noSuchUpload(uploadId);
      if (outcome === "not_pending") throw notPending(await this.get(owner, uploadId));
      if (outcome === "over_quota") throw overQuota(quotaBytes ?? 0);
      if (outcome === "too_many") {
        throw invalidRequest("invalid_value", "data", `An upload has at most ${MAX_PARTS} parts. Send larger ones.`);
      }
      if (outcome === "empty") throw invalidRequest("invalid_value", "data", "The part is empty.");
      if (outcome === "too_large") {
        const message = "The parts have more bytes than the upload was created with.";
        throw invalidRequest("invalid_value", "data", message);
      }
    } catch (error) {
      if (!mayBeCommitted(error)) await this.#parts.remove([part.id]);
      throw writeFailure(error);
    }
    return part;
  }

  /**
   * Joins the parts in this order. A repeated call on a completed upload returns its file, so that a retry after a lost
   * response is harmless. Throws 404, 400 or 507; the upload stays pending then.
   */
  async complete(
    owner: string,
    id: string,
    partIds: readonly string[],
    md5: string | null,
  ): Promise<{ upload: UploadRow; file: FileRow }> {
    const earlier = this.#completing.get(id);
    if (earlier !== undefined) {
      await earlier.catch(() => {});
      return this.complete(owner, id, partIds, md5);
    }
    const completion = this.#complete(owner, id, partIds, md5);
    this.#completing.set(id, completion);
    try {
      return await completion;
    } finally {
      this.#completing.delete(id);
    }
  }

  /** Throws 404, or 400 for a completed or expired upload; cancelling a cancelled one changes nothing. */
  async cancel(owner: string, id: string): Promise<UploadRow> {
    await this.get(owner, id);
    const ended = await this.#deps.store.uploads.cancel({ owner, id });
    if (ended === "absent") throw noSuchUpload(id);
    if (ended !== "not_pending") await this.#parts.remove(ended.partIds);
    const upload = await this.get(owner, id);
    if (upload.status !== "cancelled") throw notPending(upload);
    return upload;
  }

  /** Expires uploads past their hour. Returns how many. */
  async expire(now: number): Promise<number> {
    let expired = 0;
    for (let ended: EndedUpload[] | null = null; ended === null || ended.length === SWEEP_ROWS; ) {
      ended = await this.#deps.store.uploads.expire({ now, limit: SWEEP_ROWS });
      for (const { partIds } of ended) await this.#parts.remove(partIds);
      expired += ended.length;
    }
    return expired;
  }

  /** Removes the bytes of parts whose rows were removed. */
  unlink(partIds: readonly string[]): Promise<void> {
    return this.#parts.remove(partIds);
  }

  /** Removes uploads that expired over a week ago. Returns how many. */
  forget(now: number): Promise<number> {
    return this.#deps.store.uploads.forget({ before: now - KEPT_SECONDS, limit: SWEEP_ROWS });
  }

  async #complete(owner: string, id: string, partIds: readonly string[], md5: string | null) {
    const upload = await this.get(owner, id);
    if (upload.status === "completed" && upload.fileId !== null) {
      return { upload, file: await this.#deps.files.get(owner, upload.fileId) };
    }
    if (upload.status !== "pending" || upload.expiresAt <= epochSeconds(this.#deps.clock)) throw notPending(upload);
    const parts = inOrder(partIds, await this.#deps.store.uploads.parts({ uploadId: id }));
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes !== upload.bytes) {
      const message = `The parts have ${bytes} bytes together, but the upload was created with ${upload.bytes}.`;
      throw invalidRequest("invalid_value", "part_ids", message);
    }
    const files = this.#deps.files;
    await files.checkSpace(bytes);
    const incoming = await this.#join(owner, id, parts);
    if (md5 !== null && incoming.md5 !== md5.toLowerCase()) {
      await files.discard(incoming);
      throw invalidRequest("invalid_value", "md5", "The parts in this order do not have this MD5 checksum.");
    }
    const { purpose, filename, fileExpiresAfter: expiresAfter } = upload;
    const file = await files.place(incoming, { owner, purpose: uploadPurpose.parse(purpose), filename, expiresAfter });
    try {
      const { maxFiles } = files;
      const ended = await this.#deps.store.uploads.complete({ owner, id, file, maxFiles });
      if (ended === "too_many") throw fileRefused(ended, { quotaBytes: null, maxFiles });
      if (ended === "not_pending") throw notPending(await this.get(owner, id));
      if (ended === "erased") throw noSuchUpload(id);
      await this.#parts.remove(ended.partIds);
    } catch (error) {
      if (!mayBeCommitted(error)) await files.withdraw(file);
      throw error;
    }
    return { upload: await this.get(owner, id), file };
  }

  async #join(owner: string, id: string, parts: readonly PartRow[]): Promise<Incoming> {
    try {
      return await this.#deps.files.write(this.#parts.bytesOf(parts.map((part) => part.id)), { reserve: true });
    } catch (error) {
      // A cancel or the sweeper may have removed the parts meanwhile.
      const upload = await this.get(owner, id);
      throw upload.status === "pending" ? error : notPending(upload);
    }
  }
}

/** Throws 400 for a part that is named twice or belongs to another upload. */
function inOrder(ids: readonly string[], parts: readonly PartRow[]): PartRow[] {
  const byId = new Map(parts.map((part) => [part.id, part]));
  return ids.map((id, index) => {
    const part = byId.get(id);
    if (part === undefined) {
      const message = `'part_ids[${index}]' is not a part of this upload, or is named twice: '${id.slice(0, 64)}'.`;
      throw invalidRequest("invalid_value", `part_ids[${index}]`, message);
    }
    byId.delete(id);
    return part;
  });
}

function noSuchUpload(id: string): ApiError {
  const message = `No such Upload object: ${id.slice(0, 64)}`;
  return new ApiError("not_found", message, { param: "upload_id" });
}

/** A pending upload past its hour counts as expired, although the sweeper has not expired it yet. */
function notPending({ id, status }: UploadRow): ApiError {
  const is = status === "pending" ? "expired" : status;
  return invalidRequest("upload_not_pending", null, `The upload '${id}' is ${is} and cannot be changed.`);
}
