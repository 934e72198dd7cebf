import { createReadStream } from "node:fs";
import { mkdir, opendir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import { sync } from "./fsync.ts";

export interface UploadPartsDeps {
  store: Pick<Store, "uploads">;
  dataDir: string;
  log: Log;
}

const NAMES_AT_ONCE = 500;
const READ_BYTES = 256 * 1024;

/** The bytes of parts: `<data-dir>/parts/<id>`. They are written before their row, and removed after it. */
export class UploadParts {
  readonly #deps: UploadPartsDeps;
  readonly #dir: string;

  private constructor(deps: UploadPartsDeps) {
    this.#deps = deps;
    this.#dir = join(deps.dataDir, "parts");
  }

  /** Removes parts without a row. No part may be placed before it resolves. */
  static async open(deps: UploadPartsDeps): Promise<UploadParts> {
    const parts = new UploadParts(deps);
    await mkdir(parts.#dir, { recursive: true, mode: 0o700 });
    let names: string[] = [];
    for await (const { name } of await opendir(parts.#dir)) {
      if (names.push(name) < NAMES_AT_ONCE) continue;
      await parts.#removeOrphans(names);
      names = [];
    }
    await parts.#removeOrphans(names);
    return parts;
  }

  /** Renames received bytes to their final path and syncs the directory. Leaves nothing behind when it rejects. */
  async place(path: string, id: string): Promise<void> {
    try {
      await rename(path, join(this.#dir, id));
      await sync(this.#dir);
    } catch (error) {
      await unlink(path).catch(() => {});
      await this.remove([id]);
      throw error;
    }
  }

  async *bytesOf(ids: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const id of ids) yield* createReadStream(join(this.#dir, id), { highWaterMark: READ_BYTES });
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      await unlink(join(this.#dir, id)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return;
        this.#deps.log.error({ id, code: error.code }, "A part of an upload could not be removed from disk");
      });
    }
  }

  async #removeOrphans(names: string[]): Promise<void> {
    await this.remove(await this.#deps.store.uploads.withoutPart({ ids: names }));
  }
}
