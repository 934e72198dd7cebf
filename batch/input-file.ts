import { type FileHandle, open } from "node:fs/promises";

/** The input of a batch that runs: opened when its first line is read, and read a line at a time. */
export class InputFile {
  readonly #path: string;
  #handle: Promise<FileHandle> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** The body of the request that stands there. Rejects when the file is gone or is not what was validated. */
  async body(offset: number, length: number): Promise<unknown> {
    const request: unknown = JSON.parse((await this.#read(offset, length)).toString("utf8"));
    if (typeof request === "object" && request !== null && "body" in request) return request.body;
    throw new Error(`${this.#path} has no request at byte ${offset}`);
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    this.#handle ??= open(this.#path, "r");
    const handle = await this.#handle;
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(bytes, 0, length, offset);
    if (bytesRead < length) throw new Error(`${this.#path} ends before byte ${offset + length}`);
    return bytes;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.then(
      (opened) => opened.close(),
      () => {},
    );
  }
}
