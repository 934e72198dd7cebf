/** Characters that are parsed at once: some milliseconds, whatever they are. Names, numbers and white space may be longer. */
export const CUT_LENGTH = 64 * 1024;

/** A part of a JSON text, in the order of the text. */
export type Cut =
  /** Items or members of the container that is open, and the commas between them: one at least. */
  | { kind: "items"; from: number; to: number }
  /** A container begins within the one that is open. What lies from `from` to `to` is its key, or nothing. */
  | { kind: "open"; from: number; to: number; array: boolean }
  /** The container that is open ends, by the bracket of a list or of an object. */
  | { kind: "close"; array: boolean }
  /** A string begins, as a container does. */
  | { kind: "string"; from: number; to: number }
  /** Characters of the string that is open, and whole escapes. */
  | { kind: "text"; from: number; to: number }
  | { kind: "endOfString" }
  /** White space: a container or string has ended, and a comma or the end of the container around it follows. */
  | { kind: "gap"; from: number; to: number };

interface Level {
  /** Where its bracket is. */
  opened: number;
  array: boolean;
  /** Where its last comma is; -1 before the first one. */
  comma: number;
  /** Whether a colon came after it. */
  named: boolean;
}

/**
 * Finds parts of a long JSON text that can be parsed one by one, from the places of its marks. Cuts at a comma or within a
 * long string, and opens the containers around it: these are put together from their parts. Whether the parts are JSON,
 * their parsing tells; the cuts are right for a text that is JSON, and come to no value for others.
 */
export class JsonCuts {
  /** None as long as the text is short. */
  readonly cuts: Cut[] = [];
  readonly #length: number;
  readonly #levels: Level[] = [];
  /** So many of them, from the outermost, are opened by cuts. */
  #opened = 0;
  /** What follows is in no cut yet. */
  #from = 0;
  /** A container or string that was opened by a cut has just ended: all that are open are opened by cuts. */
  #gap = false;
  /** The string at hand is opened by a cut. */
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

  /** The text goes on within a string that began at `opened`; there is no escape around `at`. */
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

  /** A string has its closing quote at `at`. */
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

  /** The text is over, after so many characters. */
  end(length: number): void {
    if (this.cuts.length > 0) this.cuts.push({ kind: "gap", from: this.#from, to: length });
  }

  /** No comma lies between two values: what begins here is no white space. */
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
