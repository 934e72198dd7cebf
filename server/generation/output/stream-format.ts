import type { PromptLogprob, SequenceFinish, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { AnswerEnd, AnswerStart } from "./sink.ts";

/** Fields of every event and every body of one answer. */
export interface AnswerIdentity {
  id: string;
  created: number;
  model: string;
  tier: "priority" | "default" | "flex";
  fingerprint: string;
  /** The upstream that computes the answer; absent where this server does. */
  upstream?: string | undefined;
}

/** The parts of an output that a stream sends at once. */
export type TextDelta = Pick<SequenceOutput, "text" | "reasoning" | "toolCalls" | "logprobs">;

/** The prompt of a choice whose first event is written. */
export interface ChoiceStart extends AnswerStart {
  /** The echoed prompt; empty where it is not echoed. */
  prompt: string;
  /** Log probabilities of the echoed prompt; absent unless requested. */
  logprobs?: readonly PromptLogprob[];
}

/** Writes the events of one stream, each method as the text of whole events. Constant parts are written once. */
export interface StreamFormat {
  /** The content type of the response. */
  readonly type: string;
  /** A choice's first event; empty where the endpoint has none. */
  first(choice: number, start: ChoiceStart): string;
  delta(choice: number, said: TextDelta): string;
  last(choice: number, finish: SequenceFinish): string;
  /** The last events of a complete answer. */
  end(end: AnswerEnd): string;
  /** The last events of an answer that failed after its first byte. */
  failed(error: ApiError): string;
  /** Whole events without content, for a stream that is silent. Default: a comment of server-sent events. */
  keepAlive?(): string;
}

export const EVENT_STREAM = "text/event-stream; charset=utf-8";
/** Readers of server-sent events skip a line that begins with a colon. */
export const KEEP_ALIVE = ": keep-alive\n\n";
export const DONE = "data: [DONE]\n\n";

/** The event of an error in streams of OpenAI's older endpoints. */
export function errorEvent(error: ApiError): string {
  return `data: ${JSON.stringify(error.body)}\n\n`;
}
