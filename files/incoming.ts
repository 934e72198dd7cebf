import { createHash } from "node:crypto";
import { mkdir, open, readdir, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { ApiError } from "../openapi/api-error.ts";
import { objectId } from "../platform/object-id.ts";
import { BYTES_BETWEEN_CHECKS, type DiskSpace, writeFailure } from "./disk-space.ts";

/** Bytes that are written and synced but have no row yet; they are placed or discarded. */
export interface Incoming {
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  md5: string;
}

/** Most bytes that are accepted, and the error beyond it. */
export interface ByteLimit {
  bytes: number;
  error: () => ApiError;
}

/**
 * Bytes between two syncs of one writer. Unsynced until the end, the whole file would delay every commit of the
 * database, because file systems such as ext4 write both out together.
 */
const BYTES_BETWEEN_SYNCS = 16 * 1024 * 1024;

/** The directory `tmp`, which receives bytes. Its contents after a crash have no owner. */
export class Inbox {
  readonly #dir: string;
  readonly #space: DiskSpace;

  constructor(dir: string, space: DiskSpace) {
    this.#dir = dir;
    this.#space = space;
  }

  /** Creates the directory, or empties it. The caller holds the data directory's lock. */
  async empty(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#dir)) await rm(join(this.#dir, name), { recursive: true, force: true });
  }

  /**
   * Writes a stream chunk by chunk and syncs it. Leaves nothing behind when the stream, the disk or the limit ends it.
   * `reserve` false is for bytes that the server itself must write: they may use the reserve.
   */
  async write(source: AsyncIterable<Uint8Array>, limit: ByteLimit | null, reserve: boolean): Promise<Incoming> {
    const path = join(this.#dir, objectId("file-"));
    try {
      return await this.#write(source, path, limit, reserve);
    } catch (error) {
      await this.#remove(path);
      throw writeFailure(error);
    }
  }

  discard(incoming: Incoming): Promise<void> {
    return this.#remove(incoming.path);
  }

  async #write(
    source: AsyncIterable<Uint8Array>,
    path: string,
    limit: ByteLimit | null,
    reserve: boolean,
  ): Promise<Incoming> {
    const sha256 = createHash("sha256");
    const md5 = createHash("md5");
    let bytes = 0;
    let checkedAt = 0;
    let syncedAt = 0;
    const file = await open(path, "wx", 0o600);
    try {
      for await (const chunk of source) {
        bytes += chunk.byteLength;
        if (limit !== null && bytes > limit.bytes) throw limit.error();
        if (reserve && (checkedAt === 0 || bytes - checkedAt >= BYTES_BETWEEN_CHECKS)) {
          await this.#space.check(chunk.byteLength);
          checkedAt = bytes;
        }
        sha256.update(chunk);
        md5.update(chunk);
        await writeWhole(file, chunk);
        if (bytes - syncedAt >= BYTES_BETWEEN_SYNCS) {
          await file.datasync();
          syncedAt = bytes;
        }
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return { path, bytes, sha256: sha256.digest("hex"), md5: md5.digest("hex") };
  }

  async #remove(path: string): Promise<void> {
    // The next start removes it otherwise.
    await unlink(path).catch(() => {});
  }
}

/** A write can be short: on a disk that fills up it is, and the next one fails. */
async function writeWhole(
  file: { write(bytes: Uint8Array, offset: number): Promise<{ bytesWritten: number }> },
  chunk: Uint8Array,
): Promise<void> {
  for (let written = 0; written < chunk.byteLength; ) {
    const { bytesWritten } = await file.write(chunk, written);
    written += bytesWritten;
  }
}
