import type { PromptLogprob, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";
import type { EventStream } from "../../http/sse.ts";
import { type ChunkFormat, DONE } from "./chunk-format.ts";
import type { Sink } from "./sink.ts";

/** Writes a request's choices as one stream of events; several choices are interleaved by index. */
export class StreamSink implements Sink {
  readonly #stream: EventStream;
  readonly #format: ChunkFormat;
  readonly #includeUsage: boolean;
  readonly #begun = new Set<number>();
  readonly #prompts = new Map<number, string>();
  readonly #promptLogprobs = new Map<number, readonly PromptLogprob[]>();

  constructor(stream: EventStream, format: ChunkFormat, includeUsage: boolean) {
    this.#stream = stream;
    this.#format = format;
    this.#includeUsage = includeUsage;
  }

  get opened(): boolean {
    return this.#stream.opened;
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
      events = this.#format.first(choice, this.#prompts.get(choice) ?? "", this.#promptLogprobs.get(choice));
      this.#promptLogprobs.delete(choice);
    }
    if (hasContent) events += this.#format.delta(choice, output);
    if (finish !== null) events += this.#format.last(choice, finish.reason);
    this.#stream.push(events);
  }

  forget(): void {
    // A request starts over only while no event was pushed, and no other state is kept here.
  }

  complete(usage: Usage): void {
    this.#stream.end(this.#includeUsage ? this.#format.usage(usage) + DONE : DONE);
  }

  fail(error: ApiError): void {
    this.#stream.end(`data: ${JSON.stringify(error.body)}\n\n`);
  }
}
