/** Reads from an `Input`; yields while the text for its next decision is missing. */
export type Reading<Result = void> = Generator<void, Result, void>;

const SPACE = /\s/;

/**
 * Text that arrives in pieces, for readings that are written as if it were complete. Each waits until later text cannot
 * change its decision, so that no result depends on the division into pieces.
 */
export class Input {
  #text = "";
  #at = 0;
  #ended = false;
  /** True while a reading may still go back: the text that it has read is kept. */
  #held = false;

  push(text: string): void {
    if (this.#held) this.#text += text;
    else {
      this.#text = this.#text.slice(this.#at) + text;
      this.#at = 0;
    }
  }

  end(): void {
    this.#ended = true;
  }

  /** The next character, without taking it; "" at the end. */
  *peek(): Reading<string> {
    while (this.#at >= this.#text.length) {
      if (this.#ended) return "";
      yield;
    }
    return this.#text[this.#at]!;
  }

  /** Takes the character that was peeked. */
  skip(): void {
    this.#at += 1;
  }

  /** Takes white space. */
  *space(): Reading {
    yield* this.word(SPACE);
  }

  /** Takes the characters that match, one by one. */
  *word(pattern: RegExp): Reading<string> {
    let word = "";
    for (let next = yield* this.peek(); next !== "" && pattern.test(next); next = yield* this.peek()) {
      this.skip();
      word += next;
    }
    return word;
  }

  /** Takes this text if it is next, else nothing. */
  *accepts(text: string): Reading<boolean> {
    const there = yield* this.sees(text);
    if (there) this.#at += text.length;
    return there;
  }

  /** True if this text is next. */
  *sees(text: string): Reading<boolean> {
    for (;;) {
      const there = this.#text.slice(this.#at, this.#at + text.length);
      if (there === text) return true;
      if (!text.startsWith(there) || this.#ended) return false;
      yield;
    }
  }

  /**
   * Takes text up to the mark that ends first (of two with the same end, the longer one), and the mark. `pass` gets the
   * text as soon as it is certain. @returns the mark; null at the end of the text
   */
  *until(marks: readonly string[], pass: (text: string) => void): Reading<string | null> {
    for (;;) {
      const rest = this.#text.slice(this.#at);
      const found = firstOf(marks, rest);
      if (found !== null) {
        this.#at += found.end;
        pass(rest.slice(0, found.end - found.mark.length));
        return found.mark;
      }
      const certain = rest.length - (this.#ended ? 0 : openEnd(marks, rest));
      this.#at += certain;
      pass(rest.slice(0, certain));
      if (this.#ended) return null;
      yield;
    }
  }

  /** Takes text up to the first of the marks as `until` does, and the mark. @returns the text; null without a mark */
  *textUntil(marks: readonly string[]): Reading<string | null> {
    let text = "";
    const mark = yield* this.until(marks, (piece) => {
      text += piece;
    });
    return mark === null ? null : text;
  }

  /** Runs a reading. If it returns false, the input is as before. */
  *attempt(reading: () => Reading<boolean>): Reading<boolean> {
    // A nested attempt goes back to its own beginning only.
    const outer = this.#held;
    this.#held = true;
    const begin = this.#at;
    const done = yield* reading();
    if (!done) this.#at = begin;
    this.#held = outer;
    return done;
  }

  /** Within an attempt that cannot fail any more: from here on, text that was read is not kept. */
  commit(): void {
    this.#held = false;
  }
}

function firstOf(marks: readonly string[], text: string): { mark: string; end: number } | null {
  let first: { mark: string; end: number } | null = null;
  for (const mark of marks) {
    const index = text.indexOf(mark);
    if (index === -1) continue;
    const end = index + mark.length;
    if (first === null || end < first.end || (end === first.end && mark.length > first.mark.length)) {
      first = { mark, end };
    }
  }
  return first;
}

/** The length of the longest suffix of the text that is the beginning of a mark. */
function openEnd(marks: readonly string[], text: string): number {
  let longest = 0;
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(mark.slice(0, length))) longest = length;
    }
  }
  return longest;
}
