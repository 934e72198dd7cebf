/** One line of an input file, by its bytes. */
export interface InputLine {
  /** 1-based, blank lines counted. */
  number: number;
  /** Bytes from the start of the file. */
  offset: number;
  /** Without the line end; null for a line above the bound, of which nothing is kept. */
  bytes: Uint8Array | null;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const BOM = [0xef, 0xbb, 0xbf];

/**
 * Splits chunks of a JSONL file into lines. Accepts a byte order mark at the start, CRLF, blank lines and a missing last line
 * end. Holds at most one chunk and one line of `maxBytes`.
 */
export async function* inputLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<InputLine[]> {
  const splitter = new LineSplitter(maxBytes);
  for await (const chunk of chunks) {
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const last = splitter.end();
  if (last.length > 0) yield last;
}

class LineSplitter {
  readonly #maxBytes: number;
  #number = 0;
  /** Of the line that is being collected, in bytes. */
  #offset = 0;
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): InputLine[] {
    const lines: InputLine[] = [];
    let from = 0;
    for (;;) {
      if (this.#partBytes === 0) from = this.#skipBlankLines(chunk, from);
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      this.#take(chunk.subarray(from, end), lines);
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  end(): InputLine[] {
    const lines: InputLine[] = [];
    if (this.#partBytes > 0) this.#take(new Uint8Array(0), lines);
    return lines;
  }

  /**
   * The start of the first line that is not blank or does not end in this chunk. A file may have hundreds of millions of
   * blank lines; a test of each byte takes a hundredth of the time of a line.
   */
  #skipBlankLines(chunk: Uint8Array, from: number): number {
    let start = from;
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === NEWLINE) {
        if (i - start > this.#maxBytes) break;
        this.#number++;
        this.#offset += i + 1 - start;
        start = i + 1;
      } else if (byte !== SPACE && byte !== TAB && byte !== RETURN) {
        break;
      }
    }
    return start;
  }

  #keep(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    this.#partBytes += part.byteLength;
    if (this.#partBytes > this.#maxBytes) this.#parts = [];
    // The reader uses the chunk's memory again.
    else this.#parts.push(Uint8Array.from(part));
  }

  #take(rest: Uint8Array, lines: InputLine[]): void {
    const length = this.#partBytes + rest.byteLength;
    const tooLong = length > this.#maxBytes;
    let bytes: Uint8Array | null = null;
    if (!tooLong) bytes = this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest], length);
    this.#number++;
    let offset = this.#offset;
    this.#offset += length + 1;
    this.#parts = [];
    this.#partBytes = 0;
    if (bytes === null) {
      lines.push({ number: this.#number, offset, bytes });
      return;
    }
    if (this.#number === 1 && BOM.every((byte, index) => bytes?.[index] === byte)) {
      bytes = bytes.subarray(BOM.length);
      offset += BOM.length;
    }
    if (bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1);
    if (!isBlank(bytes)) lines.push({ number: this.#number, offset, bytes });
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === SPACE || byte === TAB || byte === RETURN);
}
