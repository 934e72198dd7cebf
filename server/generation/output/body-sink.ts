import type { PromptLogprob, RankedLogprob, SequenceFinish, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { Sink } from "./sink.ts";

export interface WholeToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface WholeChoice {
  text: string;
  reasoning: string;
  calls: WholeToolCall[];
  finish: SequenceFinish;
  /** Null unless requested. */
  logprobs: RankedLogprob[] | null;
  /** Log probabilities of the echoed prompt. */
  promptLogprobs: PromptLogprob[];
}

/** Collects the choices of a request for one body. */
export class BodySink implements Sink {
  readonly opened: boolean = false;
  readonly #choices: WholeChoice[];
  readonly #firstToken: () => void;

  constructor(choices: number, firstToken: () => void) {
    this.#choices = Array.from({ length: choices }, emptyChoice);
    this.#firstToken = firstToken;
  }

  /** Complete when the request is. */
  get choices(): readonly WholeChoice[] {
    return this.#choices;
  }

  started(): void {
    // The counts come again with the end.
  }

  prompt(choice: number, text: string): void {
    this.#choices[choice]!.text = text;
  }

  output(choice: number, output: SequenceOutput): void {
    const collected = this.#choices[choice]!;
    collected.text += output.text;
    collected.reasoning += output.reasoning;
    for (const { index, id = "", name = "", arguments: args } of output.toolCalls ?? []) {
      collected.calls[index] ??= { id, name, arguments: "" };
      collected.calls[index].arguments += args;
    }
    if (output.logprobs !== undefined) {
      collected.logprobs ??= [];
      collected.logprobs.push(...output.logprobs);
    }
    if (output.promptLogprobs !== undefined) collected.promptLogprobs = output.promptLogprobs;
    if (output.finish !== null) collected.finish = output.finish;
    if (output.tokens > 0) this.#firstToken();
  }

  forget(first: number, count: number): void {
    for (let choice = first; choice < first + count; choice++) this.#choices[choice] = emptyChoice();
  }

  complete(): void {
    // The owner of the request writes the body from the choices.
  }

  fail(): void {
    // No byte was sent: the error becomes the status.
  }
}

const UNFINISHED: SequenceFinish = { reason: "length", stop: null, completionTokens: 0, reasoningTokens: 0 };

function emptyChoice(): WholeChoice {
  return { text: "", reasoning: "", calls: [], finish: UNFINISHED, logprobs: null, promptLogprobs: [] };
}
