import type { SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";

/** Token counts of the prompts of an answer that begins. */
export interface AnswerStart {
  promptTokens: number;
  cachedTokens: number;
}

/** Durations of an answer in milliseconds. */
export interface AnswerTimes {
  /** From arrival to the first step. */
  queue: number;
  /** From the first step to the first token. */
  prefill: number;
  /** From the first token to the end. */
  decode: number;
}

/** The end of a complete answer. */
export interface AnswerEnd {
  usage: Usage;
  times: AnswerTimes;
}

/** The receiver of a request's choices: a stream of events, or one body. */
export interface Sink {
  /** True once the client may have received a byte: the request is not run again then. */
  readonly opened: boolean;
  /** The first sequence of a prompt starts; counts of the prompts that have not started are 0. */
  started(start: AnswerStart): void;
  /** The echoed prompt of a choice, before its first output. */
  prompt(choice: number, text: string): void;
  output(choice: number, output: SequenceOutput): void;
  /** Drops the collected output of these choices, which start over. */
  forget(first: number, count: number): void;
  complete(end: AnswerEnd): void;
  /** Called only when opened: before that the error becomes a status. */
  fail(error: ApiError): void;
}
