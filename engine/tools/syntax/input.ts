/** Reads from an `Input`; `yield`s when what it has to decide on has not come yet. */
export type Reading<Result = void> = Generator<void, Result, void>;

const SPACE = /\s/;

/**
 * Text that comes in pieces, for readings written as if all of it were there. Each of them waits until its decision can't
 * be changed by what follows, so that no result depends on where the pieces were cut.
 */
export class Input {
  #text = "";
  #at = 0;
  #ended = false;
  /** While a reading may still go back, what it has read is kept. */
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

  /** The next character, which is not taken; "" at the end. */
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

  /** Takes this text if it comes next, else nothing. */
  *accepts(text: string): Reading<boolean> {
    const there = yield* this.sees(text);
    if (there) this.#at += text.length;
    return there;
  }

  /** Whether this text comes next. */
  *sees(text: string): Reading<boolean> {
    for (;;) {
      const there = this.#text.slice(this.#at, this.#at + text.length);
      if (there === text) return true;
      if (!text.startsWith(there) || this.#ended) return false;
      yield;
    }
  }

  /**
   * Takes text up to the first of the marks to become complete (of two that end together the longer), and the mark.
   * `pass` gets the text as soon as it is certain. @returns the mark; null when the end came first
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

  /** Runs a reading that may find out that it was none: then nothing was taken. */
  *attempt(reading: () => Reading<boolean>): Reading<boolean> {
    // Attempts inside of an attempt go back no further than to their own beginning.
    const outer = this.#held;
    this.#held = true;
    const begin = this.#at;
    const done = yield* reading();
    if (!done) this.#at = begin;
    this.#held = outer;
    return done;
  }

  /** In an attempt: it can't fail any more. What has been read is not kept from here on. */
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

/** The length of the longest end of the text that begins a mark. */
function openEnd(marks: readonly string[], text: string): number {
  let longest = 0;
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(mark.slice(0, length))) longest = length;
    }
  }
  return longest;
}
