const PAGE_BYTES = 256 * 1024;

/**
 * An append-only column of short texts, stored as UTF-8 outside the JavaScript heap: 50,000 strings of 512 characters
 * would fill a fifth of it. Lone surrogates do not survive.
 */
export class TextColumn {
  readonly #pages: Buffer[] = [];
  /** Page of each text, and its first byte there. */
  readonly #page: Uint32Array;
  readonly #start: Uint32Array;
  readonly #length: Uint32Array;
  /** Used bytes of the last page. */
  #used = 0;
  #count = 0;

  /** `capacity`: most texts. */
  constructor(capacity: number) {
    this.#page = new Uint32Array(capacity);
    this.#start = new Uint32Array(capacity);
    this.#length = new Uint32Array(capacity);
  }

  get length(): number {
    return this.#count;
  }

  /** `text` has at most PAGE_BYTES. */
  push(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (bytes > PAGE_BYTES) throw new RangeError("The text is longer than a page");
    if (this.#pages.length === 0 || this.#used + bytes > PAGE_BYTES) {
      this.#pages.push(Buffer.allocUnsafeSlow(PAGE_BYTES));
      this.#used = 0;
    }
    const page = this.#pages.length - 1;
    this.#pages[page]!.write(text, this.#used);
    this.#page[this.#count] = page;
    this.#start[this.#count] = this.#used;
    this.#length[this.#count] = bytes;
    this.#used += bytes;
    this.#count++;
  }

  slice(from: number, to: number): string[] {
    const texts: string[] = [];
    for (let i = from; i < to; i++) {
      const start = this.#start[i]!;
      texts.push(this.#pages[this.#page[i]!]!.toString("utf8", start, start + this.#length[i]!));
    }
    return texts;
  }
}
