import type { SequenceFinish } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import { markOf } from "../../../openapi/generation/answer-mark.ts";
import { ollamaErrorBody } from "../../../openapi/ollama/error.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { WholeChoice } from "../../generation/output/body-sink.ts";
import type { AnswerEnd } from "../../generation/output/sink.ts";
import type { StreamFormat, TextDelta } from "../../generation/output/stream-format.ts";
import { chatLogprobs, lateChatLogprobs } from "../chat-logprobs.ts";
import { type OllamaCall, ollamaCall, WholeCalls } from "./whole-calls.ts";

/** The content of a line. */
export interface Said {
  text: string;
  reasoning: string;
  calls: readonly OllamaCall[];
}

/** The fields of a line that have its content: `message` of a chat, `response` of a generation. */
export type ContentFields = (said: Said) => object;

const NOTHING: Said = { text: "", reasoning: "", calls: [] };
const NS_PER_MS = 1e6;

/** The time of a line or an answer. */
type WallClock = Pick<Clock, "epochMs">;

/** The origin of an answer. */
export interface AnswerOrigin {
  /** The name in the request, which clients compare with the answer's. */
  model: string;
  /** The upstream that computes it; absent where this server does. */
  upstream?: string | undefined;
}

/** An answer as lines of JSON, each an object with its own time: the last one has `done: true` and the counts. */
export class AnswerLines implements StreamFormat {
  readonly type = "application/x-ndjson";
  readonly #origin: AnswerOrigin;
  readonly #clock: WallClock;
  readonly #fields: ContentFields;
  readonly #calls = new WholeCalls();
  #reason: SequenceFinish["reason"] = "stop";

  constructor(origin: AnswerOrigin, clock: WallClock, fields: ContentFields) {
    this.#origin = origin;
    this.#clock = clock;
    this.#fields = fields;
  }

  /** Sent before a piece of a call is kept back: after a written line the request does not start over. */
  first(): string {
    return this.#line(NOTHING, { done: false });
  }

  delta(_choice: number, { text, reasoning, toolCalls = [], logprobs = [] }: TextDelta): string {
    const calls = this.#calls.push(toolCalls);
    if (text === "" && reasoning === "" && calls.length === 0 && logprobs.length === 0) return "";
    const known = logprobs.length > 0 && { logprobs: chatLogprobs(logprobs).content };
    return this.#line({ text, reasoning, calls }, { done: false, ...known });
  }

  last(_choice: number, { reason }: SequenceFinish): string {
    this.#reason = reason;
    const calls = this.#calls.end();
    return calls.length === 0 ? "" : this.#line({ ...NOTHING, calls }, { done: false });
  }

  end(end: AnswerEnd): string {
    return this.#line(NOTHING, endFields(this.#reason, end));
  }

  failed(error: ApiError): string {
    return `${JSON.stringify(ollamaErrorBody(error))}\n`;
  }

  /** An empty line would break readers. */
  keepAlive(): string {
    return this.#line(NOTHING, { done: false });
  }

  #line(said: Said, rest: object): string {
    return `${JSON.stringify({ ...head(this.#origin, this.#clock), ...this.#fields(said), ...rest })}\n`;
  }
}

/** The whole answer as one object. */
export function wholeAnswer(
  origin: AnswerOrigin,
  clock: WallClock,
  fields: ContentFields,
  { text, reasoning, calls, finish, logprobs }: WholeChoice,
  end: AnswerEnd,
): object {
  return {
    ...head(origin, clock),
    ...fields({ text, reasoning, calls: calls.flatMap(ollamaCall) }),
    ...endFields(finish.reason, end),
    ...(logprobs !== null && { logprobs: lateChatLogprobs(logprobs).content }),
  };
}

/** The answer to a request that only loads or unloads its model. */
export function emptyAnswer(
  origin: AnswerOrigin,
  clock: WallClock,
  fields: ContentFields,
  reason: "load" | "unload",
): object {
  return { ...head(origin, clock), ...fields(NOTHING), done: true, done_reason: reason };
}

function head({ model, upstream }: AnswerOrigin, clock: WallClock) {
  return { model, created_at: rfc3339(clock.epochMs() / 1000), ...markOf(upstream) };
}

function endFields(reason: SequenceFinish["reason"], { usage, times: { queue, prefill, decode } }: AnswerEnd) {
  return {
    done: true,
    done_reason: reason === "length" ? "length" : "stop",
    total_duration: nanoseconds(queue + prefill + decode),
    load_duration: nanoseconds(queue),
    prompt_eval_count: usage.prompt_tokens,
    prompt_eval_duration: nanoseconds(prefill),
    eval_count: usage.completion_tokens,
    eval_duration: nanoseconds(decode),
  };
}

export function nanoseconds(ms: number): number {
  return Math.max(0, Math.round(ms * NS_PER_MS));
}

/** @param seconds since 1970 */
export function rfc3339(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
