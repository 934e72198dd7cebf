import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { RemoteFile } from "./remote-file.ts";

/** Bytes [from, to) of a file. */
export interface Piece {
  from: number;
  to: number;
}

const STATE = z.object({
  bytes: z.number(),
  sha256: z.string().nullable(),
  validator: z.string().nullable(),
  pieceBytes: z.number(),
  /** Indexes of the pieces that are durable. */
  done: z.array(z.number()),
});
type State = z.infer<typeof STATE>;

/**
 * A file that is being downloaded: its bytes are in `path.part`, the server's facts and the complete pieces in
 * `path.part.json`. A later run continues it only if the server's facts are the same.
 */
export class PartialFile {
  readonly path: string;
  readonly #part: string;
  readonly #file: FileHandle;
  readonly #state: State;
  #saved: Promise<void> = Promise.resolve();

  /** Continues the file of an earlier run if it has the same content; else starts from the first byte. */
  static async open(path: string, announced: RemoteFile, pieceBytes: number): Promise<PartialFile> {
    const { bytes, sha256, validator, ranges } = announced;
    const earlier = ranges ? await readState(path) : null;
    const size = await stat(`${path}.part`).then(
      (facts) => facts.size,
      () => null,
    );
    const goOn = earlier !== null && size === bytes && isSame(earlier, announced);
    // A server without range requests sends the whole file.
    const fresh = { bytes, sha256, validator, pieceBytes: ranges ? pieceBytes : bytes, done: [] };
    const state = goOn ? earlier : fresh;
    if (!goOn) await removePartial(path);
    const file = await open(`${path}.part`, goOn ? "r+" : "w+");
    const partial = new PartialFile(path, file, state);
    try {
      if (!goOn) {
        await file.truncate(bytes);
        await partial.#save();
      }
    } catch (error) {
      await partial.close();
      throw error;
    }
    return partial;
  }

  private constructor(path: string, file: FileHandle, state: State) {
    this.path = path;
    this.#part = `${path}.part`;
    this.#file = file;
    this.#state = state;
  }

  get missing(): Piece[] {
    const { bytes, pieceBytes, done } = this.#state;
    return Array.from({ length: Math.ceil(bytes / pieceBytes) }, (_, i) => i)
      .filter((number) => !done.includes(number))
      .map((number) => ({ from: number * pieceBytes, to: Math.min(bytes, (number + 1) * pieceBytes) }));
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    for (let offset = 0; offset < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, offset, bytes.length - offset, at + offset);
      offset += bytesWritten;
    }
  }

  /** Marks a piece as complete, after its bytes have been synced. */
  async complete(piece: Piece): Promise<void> {
    await this.#file.datasync();
    this.#state.done.push(piece.from / this.#state.pieceBytes);
    this.#saved = this.#saved.then(() => this.#save());
    await this.#saved;
  }

  /** Hex. It takes about ten seconds for a file of 5 GB. */
  async sha256(): Promise<string> {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(this.#part, { highWaterMark: 256 * 1024 })) hash.update(chunk);
    return hash.digest("hex");
  }

  /** Appends another file's bytes. The next run after an interruption finds the wrong size and starts again. */
  async append(other: PartialFile): Promise<void> {
    const { size } = await this.#file.stat();
    let at = size;
    for await (const chunk of createReadStream(other.#part, { highWaterMark: 1024 * 1024 })) {
      await this.write(chunk, at);
      at += chunk.length;
    }
    await this.#file.datasync();
  }

  /** Gives the file its name. */
  async finish(path = this.path): Promise<void> {
    await this.#file.datasync();
    await this.close();
    await rename(this.#part, path);
    await removePartial(this.path);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #save(): Promise<void> {
    await writeFile(`${this.#part}.json.new`, JSON.stringify(this.#state));
    await rename(`${this.#part}.json.new`, `${this.#part}.json`);
  }
}

/** Bytes of the file that a later run does not have to fetch. */
export async function bytesKept(path: string, announced: RemoteFile): Promise<number> {
  const state = announced.ranges ? await readState(path) : null;
  if (state === null || !isSame(state, announced)) return 0;
  return Math.min(state.bytes, state.done.length * state.pieceBytes);
}

/** Bytes of the file that are here. */
export async function bytesReceived(path: string): Promise<number> {
  const state = await readState(path);
  return state === null ? 0 : Math.min(state.bytes, state.done.length * state.pieceBytes);
}

export async function removePartial(path: string): Promise<void> {
  for (const suffix of [".part.json", ".part.json.new", ".part"]) await rm(`${path}${suffix}`, { force: true });
}

/** Compares the content by hash, else by the server's validator; without both it counts as different. */
function isSame(state: State, { bytes, sha256, validator }: RemoteFile): boolean {
  if (state.bytes !== bytes || state.sha256 !== sha256) return false;
  return sha256 !== null || (validator !== null && state.validator === validator);
}

async function readState(path: string): Promise<State | null> {
  try {
    return STATE.parse(JSON.parse(await readFile(`${path}.part.json`, "utf8")));
  } catch {
    return null;
  }
}
