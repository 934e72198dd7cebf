import { StopMatcher } from "./stop-strings.ts";

/** The tags around a model's reasoning in its output. */
export interface ReasoningTags {
  open: string;
  close: string;
  /** The control token that the open tag begins with, where the whole tag is not one token. */
  openToken?: string;
}

/** The reasoning of one answer. */
export interface ReasoningForm {
  /** Null: the model does not reason. */
  reasoningTags: ReasoningTags | null;
  /** True when the prompt ends inside reasoning. */
  startsInReasoning: boolean;
  /** Beginnings of tool calls that end reasoning as its close tag does; absent where no calls are read. */
  callMarks?: readonly string[];
}

/** Characters of white space that are held back: a model may write white space alone, without end. */
const MOST_WHITE_SPACE = 64;

/** Text that can't change any more: of the answer, and of the reasoning before it. */
export interface SplitText {
  text: string;
  reasoning: string;
}

/**
 * Splits a sequence's text into reasoning and answer. Its phases follow one another, each at most once:
 *
 * | phase     | the text is                                              | ends with                |
 * |-----------|----------------------------------------------------------|--------------------------|
 * | beginning | white space, then perhaps a tag: held until known        | any other character      |
 * | thoughts  | reasoning, without white space at its start              | the close tag, or a call |
 * | gap       | white space after the close tag: dropped                 | any other character      |
 * | answer    | text, tags in it included                                |                          |
 *
 * Only an open tag at the very start begins reasoning, so that an answer may contain tags. A close tag there is the end of
 * reasoning that is empty. Where the prompt has opened the
 * reasoning already (`inside`), a beginning without the tag is reasoning too. White space around the tags is the template's
 * and not the answer's: llama-server and DeepSeek's own service drop it too. White space before the close tag stays, since it
 * was streamed before the tag. A call that models write into open reasoning ends it, and is a part of the answer.
 */
export class ReasoningSplitter {
  readonly #tags: ReasoningTags;
  readonly #opened: boolean;
  readonly #close: StopMatcher;
  #phase: "beginning" | "thoughts" | "gap" | "answer" = "beginning";
  #held = "";
  #reasoningBegan = false;

  constructor(tags: ReasoningTags, inside: boolean, callMarks: readonly string[] = []) {
    this.#tags = tags;
    this.#opened = inside;
    this.#close = new StopMatcher([tags.close, ...callMarks]);
  }

  /** True while the next text counts as reasoning. */
  get inside(): boolean {
    return this.#phase === "thoughts" || (this.#phase === "beginning" && this.#opened);
  }

  /** True before it is certain whether the text begins with reasoning. */
  get undecided(): boolean {
    return this.#phase === "beginning" && !this.#opened;
  }

  /** True when no further reasoning can come: all later text is the answer's, unchanged. */
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

  /** At the end of the text: held text belongs to the phase in which it was held. */
  flush(): SplitText {
    const held = this.#held + this.#close.flush();
    this.#held = "";
    return this.inside ? { text: "", reasoning: this.#trimmed(held) } : { text: held, reasoning: "" };
  }

  #begin(text: string): SplitText {
    this.#held += text;
    const start = this.#held.trimStart();
    const white = this.#held.length - start.length;
    const tags = [this.#tags.open, this.#tags.close];
    const open = tags.some((tag) => start.length < tag.length && tag.startsWith(start));
    if (open && white <= MOST_WHITE_SPACE) return { text: "", reasoning: "" };
    const all = this.#held;
    this.#held = "";
    const tagged = white <= MOST_WHITE_SPACE && start.startsWith(this.#tags.open);
    if (!this.#opened && white <= MOST_WHITE_SPACE && start.startsWith(this.#tags.close)) {
      this.#phase = "gap";
      return { text: this.#skipGap(start.slice(this.#tags.close.length)), reasoning: "" };
    }
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
    const { found, after } = this.#close;
    const called = found !== this.#tags.close;
    this.#phase = called ? "answer" : "gap";
    return { text: called ? found + after : this.#skipGap(after), reasoning };
  }

  #skipGap(text: string): string {
    const answer = text.trimStart();
    if (answer !== "") this.#phase = "answer";
    return answer;
  }

  /** Without the white space at the start of the reasoning. */
  #trimmed(text: string): string {
    if (this.#reasoningBegan) return text;
    const trimmed = text.trimStart();
    this.#reasoningBegan = trimmed !== "";
    return trimmed;
  }
}
