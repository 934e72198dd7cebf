import type { PromptLogprob, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { EventStream } from "../../http/event-stream.ts";
import type { AnswerEnd, AnswerStart, Sink } from "./sink.ts";
import type { StreamFormat } from "./stream-format.ts";
import { inOrder } from "./text-order.ts";

/** Writes a request's choices as one stream of events; several choices are interleaved by index. */
export class StreamSink implements Sink {
  readonly #stream: EventStream;
  readonly #format: StreamFormat;
  readonly #begun = new Set<number>();
  readonly #prompts = new Map<number, string>();
  readonly #promptLogprobs = new Map<number, readonly PromptLogprob[]>();
  #start: AnswerStart = { promptTokens: 0, cachedTokens: 0 };

  constructor(stream: EventStream, format: StreamFormat) {
    this.#stream = stream;
    this.#format = format;
  }

  get opened(): boolean {
    return this.#stream.opened;
  }

  started(start: AnswerStart): void {
    this.#start = start;
  }

  prompt(choice: number, text: string): void {
    this.#prompts.set(choice, text);
  }

  output(choice: number, output: SequenceOutput): void {
    const { text, reasoning, toolCalls = [], logprobs = [], promptLogprobs, finish } = output;
    const hasContent = text !== "" || reasoning !== "" || toolCalls.length > 0 || logprobs.length > 0;
    if (promptLogprobs !== undefined) this.#promptLogprobs.set(choice, promptLogprobs);
    if (!hasContent && finish === null) return;
    let events = "";
    if (!this.#begun.has(choice)) {
      this.#begun.add(choice);
      events = this.#first(choice);
    }
    if (hasContent) for (const delta of inOrder(output)) events += this.#format.delta(choice, delta);
    if (finish !== null) events += this.#format.last(choice, finish);
    // Some formats have no event here, and an empty chunk would end the response.
    if (events !== "") this.#stream.push(events);
  }

  forget(): void {
    // A request starts over only while no event was pushed, and no other state is kept here.
  }

  complete(end: AnswerEnd): void {
    this.#stream.end(this.#format.end(end));
  }

  fail(error: ApiError): void {
    this.#stream.end(this.#format.failed(error));
  }

  #first(choice: number): string {
    const logprobs = this.#promptLogprobs.get(choice);
    this.#promptLogprobs.delete(choice);
    const prompt = this.#prompts.get(choice) ?? "";
    return this.#format.first(choice, { ...this.#start, prompt, ...(logprobs !== undefined && { logprobs }) });
  }
}
