import { Detokenizer } from "./detokenizer.ts";
import { ReasoningSplitter, type ReasoningTags, type SplitText } from "./reasoning.ts";
import { StopMatcher } from "./stop.ts";

export interface SequenceTextOptions {
  /** Stop strings; they are looked for in the answer alone, so that a thought about one ends nothing. */
  stop: readonly string[];
  /** Null: the model does not think, all text is answer. */
  reasoningTags: ReasoningTags | null;
  /** The prompt ends inside a thought. */
  startsInReasoning: boolean;
}

export interface CertainText extends SplitText {
  /** A stop string is complete: the sequence is over, and nothing more will come of it. */
  stopped: boolean;
}

const NOTHING: Readonly<CertainText> = { text: "", reasoning: "", stopped: false };

/** One sequence's way from token bytes to text: characters, then thoughts and answer, then stop strings. */
export class SequenceText {
  readonly #detokenizer = new Detokenizer();
  #reasoning: ReasoningSplitter | null;
  readonly #stop: StopMatcher | null;
  #tokens = 0;
  #reasoningTokens = 0;
  #answered = 0;

  constructor(options: SequenceTextOptions) {
    const { stop, reasoningTags, startsInReasoning } = options;
    this.#reasoning = reasoningTags === null ? null : new ReasoningSplitter(reasoningTags, startsInReasoning);
    this.#stop = stop.length === 0 ? null : new StopMatcher(stop);
  }

  /** Tokens of the thoughts so far, their tags included. */
  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /** Characters (UTF-16 units) of the answer so far, with those that may still turn out to begin a stop string. */
  get answered(): number {
    return this.#answered;
  }

  /** Whether the last token was a thought, or of what stands around thoughts. */
  get thinking(): boolean {
    const reasoning = this.#reasoning;
    return reasoning !== null && !reasoning.done && !reasoning.undecided;
  }

  /**
   * Takes one token's bytes (perhaps none). Not armed: no stop string can become complete with this token.
   * The result is shared where it is empty: read it, don't keep it.
   */
  push(bytes: Uint8Array, armed = true): Readonly<CertainText> {
    this.#tokens += 1;
    const text = this.#detokenizer.push(bytes);
    const reasoning = this.#reasoning;
    if (reasoning === null) return this.#answer(text, "", armed);
    const wasInside = reasoning.inside;
    const split = reasoning.push(text);
    if (wasInside) this.#reasoningTokens += 1;
    // The open tag is known: all tokens so far were part of it.
    else if (reasoning.inside || split.reasoning !== "") this.#reasoningTokens = this.#tokens;
    if (reasoning.done) this.#reasoning = null;
    return this.#answer(split.text, split.reasoning, armed);
  }

  /** At the end for any other cause than a stop string: what was held back. */
  finish(armed = true): Readonly<CertainText> {
    const last = this.#detokenizer.flush();
    if (this.#reasoning === null) return this.#end(last, "", armed);
    const split = this.#reasoning.push(last);
    const rest = this.#reasoning.flush();
    this.#reasoning = null;
    return this.#end(split.text + rest.text, split.reasoning + rest.reasoning, armed);
  }

  #answer(text: string, reasoning: string, armed: boolean): Readonly<CertainText> {
    if (text === "" && reasoning === "") return NOTHING;
    this.#answered += text.length;
    if (this.#stop === null) return { text, reasoning, stopped: false };
    return { text: this.#stop.push(text, armed), reasoning, stopped: this.#stop.stopped };
  }

  #end(text: string, reasoning: string, armed: boolean): Readonly<CertainText> {
    if (this.#stop === null) return { text, reasoning, stopped: false };
    const certain = this.#stop.push(text, armed);
    return { text: certain + this.#stop.flush(), reasoning, stopped: this.#stop.stopped };
  }
}
