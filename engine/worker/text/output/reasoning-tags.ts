import { StopMatcher } from "./stop-strings.ts";

/** What stands around a model's thoughts in its output. */
export interface ReasoningTags {
  open: string;
  close: string;
  /** The control token that the open tag begins with, where it is not one as a whole. */
  openToken?: string;
}

/** A model that writes nothing but white space must not have it held back for ever. In characters. */
const MOST_WHITE_SPACE = 64;

/** Text that became certain: of the answer, and of the thoughts before it. */
export interface SplitText {
  text: string;
  reasoning: string;
}

/**
 * Splits a sequence's text into thoughts and answer. Its phases follow one another, none comes twice:
 *
 * | phase     | the text is                                              | ends with                |
 * |-----------|----------------------------------------------------------|--------------------------|
 * | beginning | white space, then perhaps the open tag: held until known | any other character      |
 * | thoughts  | reasoning, less white space at its start                 | the close tag            |
 * | gap       | white space after the close tag: dropped                 | any other character      |
 * | answer    | text, tags in it included                                |                          |
 *
 * Only an open tag at the very start begins thoughts, so that an answer may speak about tags. Where the prompt has
 * opened the thought already (`inside`), a beginning without the tag is thoughts too. White space around the tags is
 * the template's, not the answer's: llama-server and DeepSeek's own service drop it too; white space before the close
 * tag stays, for it has been streamed by then.
 */
export class ReasoningSplitter {
  readonly #tags: ReasoningTags;
  readonly #opened: boolean;
  readonly #close: StopMatcher;
  #phase: "beginning" | "thoughts" | "gap" | "answer" = "beginning";
  #held = "";
  #reasoningBegan = false;

  constructor(tags: ReasoningTags, inside: boolean) {
    this.#tags = tags;
    this.#opened = inside;
    this.#close = new StopMatcher([tags.close]);
  }

  /** Whether the next text is a thought as far as is known: its token counts as reasoning. */
  get inside(): boolean {
    return this.#phase === "thoughts" || (this.#phase === "beginning" && this.#opened);
  }

  /** Whether it is not known yet if the text begins with thoughts. */
  get undecided(): boolean {
    return this.#phase === "beginning" && !this.#opened;
  }

  /** No more thoughts can come: every later text is the answer's, unchanged. */
  get done(): boolean {
    return this.#phase === "answer";
  }

  push(text: string): SplitText {
    switch (this.#phase) {
      case "beginning":
        return this.#begin(text);
      case "thoughts":
        return this.#think(text);
      case "gap":
        return { text: this.#skipGap(text), reasoning: "" };
      case "answer":
        return { text, reasoning: "" };
    }
  }

  /** At the end of the text: what was held back belongs to the phase that it was held in. */
  flush(): SplitText {
    const held = this.#held + this.#close.flush();
    this.#held = "";
    return this.inside ? { text: "", reasoning: this.#trimmed(held) } : { text: held, reasoning: "" };
  }

  #begin(text: string): SplitText {
    this.#held += text;
    const start = this.#held.trimStart();
    const white = this.#held.length - start.length;
    if (start.length < this.#tags.open.length && this.#tags.open.startsWith(start)) {
      if (white <= MOST_WHITE_SPACE) return { text: "", reasoning: "" };
    }
    const all = this.#held;
    this.#held = "";
    const tagged = white <= MOST_WHITE_SPACE && start.startsWith(this.#tags.open);
    if (!tagged && !this.#opened) {
      this.#phase = "answer";
      return { text: all, reasoning: "" };
    }
    this.#phase = "thoughts";
    return this.#think(tagged ? start.slice(this.#tags.open.length) : start);
  }

  #think(text: string): SplitText {
    const reasoning = this.#trimmed(this.#close.push(text));
    if (!this.#close.stopped) return { text: "", reasoning };
    this.#phase = "gap";
    return { text: this.#skipGap(this.#close.after), reasoning };
  }

  #skipGap(text: string): string {
    const answer = text.trimStart();
    if (answer !== "") this.#phase = "answer";
    return answer;
  }

  /** Without the white space at the start of the thoughts. */
  #trimmed(text: string): string {
    if (this.#reasoningBegan) return text;
    const trimmed = text.trimStart();
    this.#reasoningBegan = trimmed !== "";
    return trimmed;
  }
}
