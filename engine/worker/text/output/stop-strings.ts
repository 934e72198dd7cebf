/**
 * Finds the first stop string in text that comes in pieces, and holds back only text that may begin one.
 *
 * The text is read character by character: the moment any stop string is complete, the sequence stops; of two that
 * end together the longer counts, since it began first. So the result does not depend on where the pieces were cut, and a
 * complete stop string inside of a longer one ends the sequence at once. One Knuth-Morris-Pratt automaton per stop string:
 * linear in the text, and the held text is shorter than the longest stop string.
 *
 * Text pushed while not armed can't complete a stop string, but it can begin one that an armed push completes: `min_tokens`
 * bounds the number of tokens and not the text that stop strings match.
 */
export class StopMatcher {
  readonly #stops: StopString[];
  #held = "";
  #stopped = false;
  #found = "";
  #after = "";

  /** Empty strings are ignored: they would stop every sequence at once. */
  constructor(stops: readonly string[]) {
    this.#stops = [...new Set(stops)].filter((stop) => stop !== "").map((text) => new StopString(text));
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** The stop string that was completed; "" before one is. */
  get found(): string {
    return this.#found;
  }

  /** The text behind the stop string in the push that completed it. */
  get after(): string {
    return this.#after;
  }

  /** The text that can't become part of a stop string any more; of the push that stops, the text before the stop string. */
  push(text: string, armed = true): string {
    if (this.#stopped) return "";
    if (this.#stops.length === 0) return text;
    let longestBegun = 0;
    for (let index = 0; index < text.length; index += 1) {
      longestBegun = 0;
      let longestComplete = 0;
      for (const stop of this.#stops) {
        const begun = stop.advance(text.charCodeAt(index));
        if (begun === stop.text.length && armed) longestComplete = Math.max(longestComplete, begun);
        longestBegun = Math.max(longestBegun, stop.begun);
      }
      if (longestComplete > 0) return this.#stop(text, index + 1, longestComplete);
    }
    if (text === "") return "";
    if (longestBegun === 0 && this.#held === "") return text;
    const all = this.#held + text;
    this.#held = longestBegun === 0 ? "" : all.slice(-longestBegun);
    return longestBegun === 0 ? all : all.slice(0, -longestBegun);
  }

  /** The held text, at the end of a text without a stop string. Later text is another one, in which none has begun. */
  flush(): string {
    const held = this.#held;
    this.#held = "";
    for (const stop of this.#stops) stop.begun = 0;
    return held;
  }

  #stop(text: string, end: number, length: number): string {
    const whole = this.#held + text.slice(0, end);
    const before = whole.slice(0, -length);
    this.#found = whole.slice(-length);
    this.#stopped = true;
    this.#held = "";
    this.#after = text.slice(end);
    return before;
  }
}

class StopString {
  readonly text: string;
  /** Its first characters that are the end of the text so far; never all of them. */
  begun = 0;
  /** For each count of matched characters, the next smaller count that the same text matches too. */
  readonly #fallbacks: Uint32Array;

  constructor(text: string) {
    this.text = text;
    this.#fallbacks = new Uint32Array(text.length + 1);
    for (let index = 1, length = 0; index < text.length; index += 1) {
      while (length > 0 && text.charCodeAt(index) !== text.charCodeAt(length)) length = this.#fallbacks[length]!;
      if (text.charCodeAt(index) === text.charCodeAt(length)) length += 1;
      this.#fallbacks[index + 1] = length;
    }
  }

  /** Takes one UTF-16 unit; returns the characters matched with it, all of them if it completed the string. */
  advance(unit: number): number {
    while (this.begun > 0 && this.text.charCodeAt(this.begun) !== unit) this.begun = this.#fallbacks[this.begun]!;
    const matched = this.text.charCodeAt(this.begun) === unit ? this.begun + 1 : 0;
    this.begun = matched === this.text.length ? this.#fallbacks[matched]! : matched;
    return matched;
  }
}
