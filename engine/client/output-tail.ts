import { StringDecoder } from "node:string_decoder";

/** Cuts a stream of bytes into lines of bounded length and keeps the last `maxLines`. */
export class OutputTail {
  readonly #decoder = new StringDecoder("utf8");
  readonly #kept: string[] = [];
  readonly #onLine: (line: string) => void;
  readonly #maxLines: number;
  readonly #maxLength: number;
  #open = "";

  constructor(onLine: (line: string) => void, maxLines = 20, maxLength = 1000) {
    this.#onLine = onLine;
    this.#maxLines = maxLines;
    this.#maxLength = maxLength;
  }

  push(chunk: Buffer): void {
    const parts = this.#decoder.write(chunk).split("\n");
    for (let i = 0; i < parts.length; i++) {
      const room = this.#maxLength - this.#open.length;
      if (room > 0) this.#open += parts[i]!.slice(0, room);
      if (i < parts.length - 1) this.#endLine();
    }
  }

  /** The last lines, an unfinished one included, oldest first. */
  get lines(): string[] {
    return this.#open.trim() === "" ? [...this.#kept] : [...this.#kept, this.#open];
  }

  #endLine(): void {
    const line = this.#open.trimEnd();
    this.#open = "";
    if (line === "") return;
    this.#kept.push(line);
    if (this.#kept.length > this.#maxLines) this.#kept.shift();
    this.#onLine(line);
  }
}
