/** Characters per part, which parse in a few milliseconds. A name, a number or white space may make a part longer. */
export const CUT_LENGTH = 64 * 1024;

/** A part of a JSON text, in the order of the text. */
export type Cut =
  /** One or more items or members of the open container, with the commas between them. */
  | { kind: "items"; from: number; to: number }
  /** A container begins within the open one. The range has its key, or nothing. */
  | { kind: "open"; from: number; to: number; array: boolean }
  /** The open container ends with the bracket of an array or of an object. */
  | { kind: "close"; array: boolean }
  /** A string begins. The range has its key, or nothing. */
  | { kind: "string"; from: number; to: number }
  /** Characters and whole escapes of the open string. */
  | { kind: "text"; from: number; to: number }
  | { kind: "endOfString" }
  /** White space between the end of a container or string and the comma or bracket after it. */
  | { kind: "gap"; from: number; to: number };

interface Level {
  /** Position of its bracket. */
  opened: number;
  array: boolean;
  /** Position of its last comma; -1 before the first one. */
  comma: number;
  /** True after a colon that follows that comma. */
  named: boolean;
}

/**
 * Divides a long JSON text into parts that can be parsed one by one, from the positions of its punctuation. A cut is at a
 * comma or within a long string; the containers around it are opened, and later assembled from their parts. The cuts are
 * correct for a valid text. For an invalid text, parsing the parts or assembling them fails.
 */
export class JsonCuts {
  /** Empty for a short text. */
  readonly cuts: Cut[] = [];
  readonly #length: number;
  readonly #levels: Level[] = [];
  /** Number of levels, from the outermost, that cuts have opened. */
  #opened = 0;
  /** Start of the text after the last cut. */
  #from = 0;
  /** True after the end of a container or string that a cut opened; all open levels are then opened by cuts. */
  #gap = false;
  /** True within a string that a cut opened. */
  #inString = false;

  constructor(length = CUT_LENGTH) {
    this.#length = length;
  }

  open(at: number, array: boolean): void {
    this.#refuseInGap(at);
    this.#levels.push({ opened: at, array, comma: -1, named: false });
  }

  colon(): void {
    const level = this.#levels.at(-1);
    if (level !== undefined) level.named = true;
  }

  comma(at: number): void {
    const level = this.#levels.at(-1);
    if (level === undefined) return;
    level.comma = at;
    level.named = false;
    if (this.#gap) {
      this.cuts.push({ kind: "gap", from: this.#from, to: at });
      this.#from = at + 1;
      this.#gap = false;
    } else if (at - this.#from >= this.#length) {
      this.#openAll();
      this.#items(at);
    }
  }

  /** The text continues within a string that began at `opened`; `at` is not within an escape. */
  withinString(opened: number, at: number): void {
    if (at - this.#from < this.#length) return;
    if (!this.#inString) {
      const level = this.#levels.at(-1);
      const isName = level !== undefined && !level.array && !level.named;
      if (isName) return;
      this.#refuseInGap(opened);
      this.#openAll();
      if (level !== undefined && level.comma >= this.#from) this.#items(level.comma);
      this.cuts.push({ kind: "string", from: this.#from, to: opened });
      this.#from = opened + 1;
      this.#inString = true;
    }
    this.cuts.push({ kind: "text", from: this.#from, to: at });
    this.#from = at;
  }

  /** The closing quote of a string is at `at`. */
  endOfString(at: number): void {
    if (!this.#inString) return;
    this.cuts.push({ kind: "text", from: this.#from, to: at }, { kind: "endOfString" });
    this.#from = at + 1;
    this.#inString = false;
    this.#gap = true;
  }

  close(at: number, array: boolean): void {
    if (this.#levels.pop() === undefined || this.#levels.length >= this.#opened) return;
    this.cuts.push({ kind: this.#gap ? "gap" : "items", from: this.#from, to: at }, { kind: "close", array });
    this.#opened--;
    this.#from = at + 1;
    this.#gap = true;
  }

  /** The text ends after `length` characters. */
  end(length: number): void {
    if (this.cuts.length > 0) this.cuts.push({ kind: "gap", from: this.#from, to: length });
  }

  /** A value begins without a comma before it: its first character is added to the gap, which is then not white space. */
  #refuseInGap(at: number): void {
    if (!this.#gap) return;
    this.cuts.push({ kind: "gap", from: this.#from, to: at + 1 });
    this.#gap = false;
  }

  #openAll(): void {
    for (; this.#opened < this.#levels.length; this.#opened++) {
      const outer = this.#levels[this.#opened - 1];
      if (outer !== undefined && outer.comma >= this.#from) this.#items(outer.comma);
      const { opened, array } = this.#levels[this.#opened]!;
      this.cuts.push({ kind: "open", from: this.#from, to: opened, array });
      this.#from = opened + 1;
    }
  }

  #items(comma: number): void {
    this.cuts.push({ kind: "items", from: this.#from, to: comma });
    this.#from = comma + 1;
  }
}
