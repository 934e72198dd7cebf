import type { ToolCallDelta } from "../../../protocol/output.ts";
import type { ToolParser } from "../../../tools/parser.ts";
import type { ToolEvent } from "../../../tools/syntax/output.ts";
import { Detokenizer } from "./detokenizer.ts";
import { type ReasoningForm, ReasoningSplitter, type SplitText } from "./reasoning-tags.ts";
import { StopMatcher } from "./stop-strings.ts";

export interface SequenceTextOptions extends ReasoningForm {
  /** Stop strings. They are matched in the answer's text alone, not in reasoning, not in calls and not across them. */
  stop: readonly string[];
  /** Parses tool calls; absent: all of the answer is text. `newId` makes the id of a call that has none. */
  calls?: { parser: ToolParser; newId: () => string };
}

export interface CertainText extends SplitText {
  /** Absent where there are none. */
  calls?: readonly ToolCallDelta[];
  /** True when a stop string is complete: the sequence ends with this text. */
  stopped: boolean;
}

const NOTHING: Readonly<CertainText> = { text: "", reasoning: "", stopped: false };

/** Turns one sequence's token bytes into text: characters, reasoning and answer, tool calls, then stop strings. */
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
    const { stop, reasoningTags, startsInReasoning, callMarks, calls } = options;
    this.#reasoning = reasoningTags && new ReasoningSplitter(reasoningTags, startsInReasoning, callMarks);
    this.#calls = calls;
    this.#stop = stop.length === 0 ? null : new StopMatcher(stop);
  }

  /** Tokens of the reasoning so far, its tags included. */
  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /** True while the next text counts as reasoning. */
  get thinking(): boolean {
    return this.#reasoning?.inside ?? false;
  }

  /** True when the last token ended within a character. */
  get midCharacter(): boolean {
    return this.#midCharacter;
  }

  /** True when the answer has called a tool. */
  get called(): boolean {
    return this.#called > 0;
  }

  /** Characters (UTF-16 units) of the answer so far, held ones that may begin a stop string included. */
  get answered(): number {
    return this.#answered;
  }

  /** True when the last token was of the reasoning, its tags or the white space around them. */
  get thought(): boolean {
    if (this.#calls?.parser.thinking) return true;
    const reasoning = this.#reasoning;
    return reasoning !== null && !reasoning.done && !reasoning.undecided;
  }

  /** The stop string that was completed; null before one is. */
  get stopString(): string | null {
    return this.#stop?.stopped === true ? this.#stop.found : null;
  }

  /**
   * Takes one token's bytes (perhaps none). Not armed: no stop string can become complete with this token.
   * An empty result is shared between calls: callers read it and do not change it.
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
    // The open tag is complete: all tokens so far were part of it.
    else if (reasoning.inside || split.reasoning !== "") this.#reasoningTokens = this.#tokens;
    if (reasoning.done) this.#reasoning = null;
    return this.#answer(split.text, split.reasoning, armed);
  }

  /** The held text, when the sequence ends for another cause than a stop string. */
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
    const last = this.#collect(events, reasoning, armed);
    return { ...last, text: last.text + (this.#stop?.flush() ?? "") };
  }

  #read(parser: ToolParser, text: string, reasoning: string, armed: boolean): Readonly<CertainText> {
    const wasThinking = parser.thinking;
    const read = this.#collect(parser.push(text), reasoning, armed);
    if (wasThinking || parser.thinking) this.#reasoningTokens += 1;
    return read;
  }

  #collect(events: readonly ToolEvent[], before: string, armed: boolean): CertainText {
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
          text += this.#stop?.flush() ?? "";
          reasoning += event.text;
          break;
        case "call":
          // Held text was written before the call.
          text += this.#stop?.flush() ?? "";
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
