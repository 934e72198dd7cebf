import type { SequenceFinish } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { InfillPiece, InfillResponse } from "../../../openapi/infill/infill.ts";
import type { WholeChoice } from "../../generation/output/body-sink.ts";
import type { AnswerEnd } from "../../generation/output/sink.ts";
import {
  type AnswerIdentity,
  EVENT_STREAM,
  errorEvent,
  type StreamFormat,
  type TextDelta,
} from "../../generation/output/stream-format.ts";

/** The whole answer: it has one choice. */
export function infillBody(identity: AnswerIdentity, choices: readonly WholeChoice[], end: AnswerEnd): InfillResponse {
  const { text, finish } = choices[0]!;
  return answerObject(identity, text, finish, end);
}

/** Events of pieces of text, and a last one with the rest of the answer. llama-server sends no [DONE] here either. */
export class InfillEvents implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #identity: AnswerIdentity;
  #finish: SequenceFinish | null = null;

  constructor(identity: AnswerIdentity) {
    this.#identity = identity;
  }

  first(): string {
    return "";
  }

  delta(_choice: number, { text }: TextDelta): string {
    return text === "" ? "" : event({ index: 0, content: text, stop: false });
  }

  last(_choice: number, finish: SequenceFinish): string {
    this.#finish = finish;
    return "";
  }

  end(end: AnswerEnd): string {
    return event(answerObject(this.#identity, "", this.#finish!, end));
  }

  failed(error: ApiError): string {
    return errorEvent(error);
  }
}

function event(data: InfillPiece | InfillResponse): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function answerObject(
  { model }: AnswerIdentity,
  content: string,
  finish: SequenceFinish,
  { usage, times }: AnswerEnd,
): InfillResponse {
  const { prompt_tokens: evaluated, completion_tokens: predicted, prompt_tokens_details: details } = usage;
  const computed = evaluated - details.cached_tokens;
  return {
    index: 0,
    content,
    stop: true,
    model,
    tokens_predicted: predicted,
    tokens_evaluated: evaluated,
    stop_type: stopType(finish),
    stopping_word: finish.stop ?? "",
    timings: {
      cache_n: details.cached_tokens,
      prompt_n: computed,
      prompt_ms: times.prefill,
      prompt_per_second: perSecond(computed, times.prefill),
      predicted_n: predicted,
      predicted_ms: times.decode,
      predicted_per_second: perSecond(predicted, times.decode),
    },
  };
}

function stopType({ reason, stop }: SequenceFinish): InfillResponse["stop_type"] {
  if (stop !== null) return "word";
  return reason === "length" ? "limit" : "eos";
}

function perSecond(tokens: number, ms: number): number | null {
  return ms > 0 ? (tokens / ms) * 1000 : null;
}
