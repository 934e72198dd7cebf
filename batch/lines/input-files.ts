import { type FileHandle, open } from "node:fs/promises";
import { parseJsonInSlices } from "../../openapi/json/json-text.ts";

/** Files of all batches together that may be open. A dispatcher reads one line at a time. */
const MOST_OPEN = 32;

/**
 * The input files of the batches in progress. A file is opened when a line of it is read. At most `mostOpen` stay
 * open for any number of batches; the least recently read closes first.
 */
export class InputFiles {
  readonly #mostOpen: number;
  /** By path, the least recently read first. */
  readonly #handles = new Map<string, Promise<FileHandle>>();

  constructor(mostOpen = MOST_OPEN) {
    this.#mostOpen = mostOpen;
  }

  /** Files that are open, or about to be. */
  get size(): number {
    return this.#handles.size;
  }

  /** The body of the request at these bytes. Rejects when the file is gone or is not what was validated. */
  async body(path: string, offset: number, length: number): Promise<unknown> {
    const request = await parseJsonInSlices(await this.#read(path, offset, length));
    if (typeof request === "object" && request !== null && "body" in request) return request.body;
    throw new Error(`${path} has no request at byte ${offset}`);
  }

  /** Closes the file after the reads that have begun. A later read opens it again. */
  async close(path: string): Promise<void> {
    const handle = this.#handles.get(path);
    this.#handles.delete(path);
    // Reads that have begun were chained to the handle before this, and FileHandle.close waits for them.
    await handle?.then(
      (opened) => opened.close(),
      () => {},
    );
  }

  async closeAll(): Promise<void> {
    for (const path of this.#handles.keys()) await this.close(path);
  }

  async #read(path: string, offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#opened(path).then((handle) => handle.read(bytes, 0, length, offset));
    if (bytesRead < length) throw new Error(`${path} ends before byte ${offset + length}`);
    return bytes;
  }

  #opened(path: string): Promise<FileHandle> {
    const handle = this.#handles.get(path) ?? this.#open(path);
    this.#handles.delete(path);
    this.#handles.set(path, handle);
    return handle;
  }

  #open(path: string): Promise<FileHandle> {
    const [oldest] = this.#handles.keys();
    const room = oldest !== undefined && this.#handles.size >= this.#mostOpen ? this.close(oldest) : Promise.resolve();
    const handle = room.then(() => open(path, "r"));
    handle.catch(() => {
      // Too many open files, say: the next line tries again.
      if (this.#handles.get(path) === handle) this.#handles.delete(path);
    });
    return handle;
  }
}
