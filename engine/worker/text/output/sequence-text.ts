import type { ToolCallDelta } from "../../../protocol/output.ts";
import type { ToolParser } from "../../../tools/parser.ts";
import type { ToolEvent } from "../../../tools/syntax/output.ts";
import { Detokenizer } from "./detokenizer.ts";
import { ReasoningSplitter, type ReasoningTags, type SplitText } from "./reasoning-tags.ts";
import { StopMatcher } from "./stop-strings.ts";

export interface SequenceTextOptions {
  /** Stop strings; they are looked for in the answer's text alone, so that no thought and no call holds one. */
  stop: readonly string[];
  /** Null: the model does not think, all text is answer. */
  reasoningTags: ReasoningTags | null;
  /** The prompt ends inside a thought. */
  startsInReasoning: boolean;
  /** Reads calls; left out, all of the answer is text. `newId` is for a call that the model gave no id. */
  calls?: { parser: ToolParser; newId: () => string };
}

export interface CertainText extends SplitText {
  /** Left out where there are none. */
  calls?: readonly ToolCallDelta[];
  /** A stop string is complete: the sequence is over, and nothing more will come of it. */
  stopped: boolean;
}

const NOTHING: Readonly<CertainText> = { text: "", reasoning: "", stopped: false };

/** One sequence's way from token bytes to text: characters, thoughts and answer, tool calls, then stop strings. */
export class SequenceText {
  readonly #detokenizer = new Detokenizer();
  #reasoning: ReasoningSplitter | null;
  readonly #calls: SequenceTextOptions["calls"];
  readonly #stop: StopMatcher | null;
  #called = 0;
  #tokens = 0;
  #reasoningTokens = 0;
  #midCharacter = false;
  #answered = 0;

  constructor(options: SequenceTextOptions) {
    const { stop, reasoningTags, startsInReasoning, calls } = options;
    this.#reasoning = reasoningTags === null ? null : new ReasoningSplitter(reasoningTags, startsInReasoning);
    this.#calls = calls;
    this.#stop = stop.length === 0 ? null : new StopMatcher(stop);
  }

  /** Tokens of the thoughts so far, their tags included. */
  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /** Whether the next text is a thought as far as is known. */
  get thinking(): boolean {
    return this.#reasoning?.inside ?? false;
  }

  /** The last token ended within a character. */
  get midCharacter(): boolean {
    return this.#midCharacter;
  }

  /** Whether the answer has called a tool. */
  get called(): boolean {
    return this.#called > 0;
  }

  /** Characters (UTF-16 units) of the answer so far, with those that may still turn out to begin a stop string. */
  get answered(): number {
    return this.#answered;
  }

  /** Whether the last token was a thought, or of what stands around thoughts. */
  get thought(): boolean {
    if (this.#calls?.parser.thinking) return true;
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
    this.#midCharacter = text === "" && bytes.length > 0;
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
    if (this.#calls !== undefined) return this.#read(this.#calls.parser, text, reasoning, armed);
    this.#answered += text.length;
    if (this.#stop === null) return { text, reasoning, stopped: false };
    return { text: this.#stop.push(text, armed), reasoning, stopped: this.#stop.stopped };
  }

  #end(text: string, reasoning: string, armed: boolean): Readonly<CertainText> {
    const parser = this.#calls?.parser;
    const events: ToolEvent[] =
      parser === undefined ? [{ kind: "text", text }] : [...parser.push(text), ...parser.finish()];
    const told = this.#tell(events, reasoning, armed);
    return { ...told, text: told.text + (this.#stop?.flush() ?? "") };
  }

  #read(parser: ToolParser, text: string, reasoning: string, armed: boolean): Readonly<CertainText> {
    const wasThinking = parser.thinking;
    const told = this.#tell(parser.push(text), reasoning, armed);
    if (wasThinking || parser.thinking) this.#reasoningTokens += 1;
    return told;
  }

  #tell(events: readonly ToolEvent[], before: string, armed: boolean): CertainText {
    let text = "";
    let reasoning = before;
    const calls: ToolCallDelta[] = [];
    for (const event of events) {
      switch (event.kind) {
        case "text":
          this.#answered += event.text.length;
          text += this.#stop === null ? event.text : this.#stop.push(event.text, armed);
          if (this.#stop?.stopped) return certain(text, reasoning, calls, true);
          break;
        case "thought":
          reasoning += event.text;
          break;
        case "call":
          calls.push({ index: this.#called++, id: event.id ?? this.#calls?.newId(), name: event.name, arguments: "" });
          break;
        case "arguments": {
          const index = this.#called - 1;
          const last = calls.at(-1);
          if (last?.index === index) last.arguments += event.text;
          else calls.push({ index, arguments: event.text });
          break;
        }
        case "end":
          return certain(text, reasoning, calls, true);
      }
    }
    return certain(text, reasoning, calls, false);
  }
}

function certain(text: string, reasoning: string, calls: readonly ToolCallDelta[], stopped: boolean): CertainText {
  return calls.length === 0 ? { text, reasoning, stopped } : { text, reasoning, calls, stopped };
}
