import type { PromptLogprob, SequenceFinish } from "../../engine/protocol/output.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { markOf } from "../../openapi/generation/answer-mark.ts";
import type { CompletionResponse } from "../../openapi/generation/completions.ts";
import type { Unwritten } from "../../openapi/json/json-pieces.ts";
import type { WholeChoice } from "../generation/output/body-sink.ts";
import type { AnswerEnd } from "../generation/output/sink.ts";
import {
  type AnswerIdentity,
  type ChoiceStart,
  DONE,
  EVENT_STREAM,
  errorEvent,
  type StreamFormat,
  type TextDelta,
} from "../generation/output/stream-format.ts";
import { CompletionTokens, lateCompletionLogprobs } from "./completion-logprobs.ts";

/** An object of type text_completion: the whole answer. */
export function textCompletion(
  identity: AnswerIdentity,
  choices: readonly WholeChoice[],
  { usage }: AnswerEnd,
): Unwritten<CompletionResponse> {
  return {
    id: identity.id,
    object: "text_completion",
    created: identity.created,
    model: identity.model,
    service_tier: identity.tier,
    system_fingerprint: identity.fingerprint,
    ...markOf(identity.upstream),
    choices: choices.map(({ text, reasoning, finish, logprobs, promptLogprobs }, index) => ({
      text,
      index,
      logprobs: logprobs === null ? null : lateCompletionLogprobs([...promptLogprobs, ...logprobs]),
      finish_reason: finish.reason,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
    })),
    usage,
  };
}

/** Events of type text_completion. */
export class CompletionChunks implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #head: string;
  readonly #tail: string;
  readonly #includeUsage: boolean;
  readonly #tokens = new Map<number, CompletionTokens>();

  constructor({ id, created, model, tier, fingerprint, upstream }: AnswerIdentity, includeUsage: boolean) {
    const common = {
      id,
      object: "text_completion",
      created,
      model,
      service_tier: tier,
      system_fingerprint: fingerprint,
      ...markOf(upstream),
    };
    this.#head = `data: ${JSON.stringify(common).slice(0, -1)},"choices":[`;
    this.#includeUsage = includeUsage;
    this.#tail = includeUsage ? `],"usage":null}\n\n` : "]}\n\n";
  }

  first(choice: number, { prompt, logprobs }: ChoiceStart): string {
    if (prompt === "") return "";
    return this.#chunk(choice, JSON.stringify(prompt), this.#logprobs(choice, logprobs), "", "null");
  }

  delta(choice: number, { text, reasoning, logprobs }: TextDelta): string {
    const thought = reasoning === "" ? "" : `,"reasoning_content":${JSON.stringify(reasoning)}`;
    return this.#chunk(choice, JSON.stringify(text), this.#logprobs(choice, logprobs), thought, "null");
  }

  last(choice: number, { reason }: SequenceFinish): string {
    return this.#chunk(choice, `""`, "null", "", `"${reason}"`);
  }

  end({ usage }: AnswerEnd): string {
    return this.#includeUsage ? `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n${DONE}` : DONE;
  }

  failed(error: ApiError): string {
    return errorEvent(error);
  }

  #logprobs(choice: number, logprobs: readonly PromptLogprob[] | undefined): string {
    if (logprobs === undefined || logprobs.length === 0) return "null";
    const tokens = this.#tokens.get(choice) ?? new CompletionTokens();
    this.#tokens.set(choice, tokens);
    return JSON.stringify(tokens.add(logprobs));
  }

  #chunk(choice: number, text: string, logprobs: string, thought: string, reason: string): string {
    const fields = `"text":${text},"index":${choice},"logprobs":${logprobs},"finish_reason":${reason}${thought}`;
    return `${this.#head}{${fields}}${this.#tail}`;
  }
}
