import type { SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { BodySink, WholeChoice } from "./body-sink.ts";
import type { AnswerEnd, AnswerStart, Sink } from "./sink.ts";
import type { StreamSink } from "./stream-sink.ts";

/** Stores the choices of a complete answer. Resolves with null, or with the error that the answer fails with. */
type Keep = (choices: readonly WholeChoice[], end: AnswerEnd) => Promise<ApiError | null>;

/** A stream whose choices are collected beside it, and stored before its last event. */
export class KeepingSink implements Sink {
  readonly #stream: StreamSink;
  readonly #body: BodySink;
  readonly #keep: Keep;
  #kept: Promise<ApiError | null> = Promise.resolve(null);

  constructor(stream: StreamSink, body: BodySink, keep: Keep) {
    this.#stream = stream;
    this.#body = body;
    this.#keep = keep;
  }

  get opened(): boolean {
    return this.#stream.opened;
  }

  /** Resolves when a complete answer was stored, or has failed with an error, and the stream has ended. */
  get kept(): Promise<ApiError | null> {
    return this.#kept;
  }

  started(start: AnswerStart): void {
    this.#stream.started(start);
  }

  prompt(choice: number, text: string): void {
    this.#stream.prompt(choice, text);
    this.#body.prompt(choice, text);
  }

  output(choice: number, output: SequenceOutput): void {
    this.#stream.output(choice, output);
    this.#body.output(choice, output);
  }

  forget(first: number, count: number): void {
    this.#stream.forget();
    this.#body.forget(first, count);
  }

  complete(end: AnswerEnd): void {
    this.#kept = this.#keep(this.#body.choices, end).then((error) => {
      if (error === null) this.#stream.complete(end);
      else this.#stream.fail(error);
      return error;
    });
  }

  fail(error: ApiError): void {
    this.#stream.fail(error);
  }
}
