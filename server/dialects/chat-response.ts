import type { SequenceFinish, ToolCallDelta } from "../../engine/protocol/output.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { markOf } from "../../openapi/generation/answer-mark.ts";
import type { ChatResponse } from "../../openapi/generation/chat.ts";
import type { Unwritten } from "../../openapi/json/json-pieces.ts";
import type { WholeChoice, WholeToolCall } from "../generation/output/body-sink.ts";
import type { AnswerEnd } from "../generation/output/sink.ts";
import {
  type AnswerIdentity,
  DONE,
  EVENT_STREAM,
  errorEvent,
  type StreamFormat,
  type TextDelta,
} from "../generation/output/stream-format.ts";
import { chatLogprobs, lateChatLogprobs } from "./chat-logprobs.ts";

/** An object of type chat.completion: the whole answer. */
export function chatCompletion(
  identity: AnswerIdentity,
  choices: readonly WholeChoice[],
  { usage }: AnswerEnd,
): Unwritten<ChatResponse> {
  return {
    id: identity.id,
    object: "chat.completion",
    created: identity.created,
    model: identity.model,
    choices: choices.map(({ text, reasoning, calls, finish, logprobs }, index) => ({
      index,
      message: {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning !== "" && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
      },
      logprobs: logprobs === null ? null : lateChatLogprobs(logprobs),
      finish_reason: finish.reason,
    })),
    usage,
    service_tier: identity.tier,
    system_fingerprint: identity.fingerprint,
    ...markOf(identity.upstream),
  };
}

function toolCall({ id, name, arguments: args }: WholeToolCall) {
  return { id, type: "function" as const, function: { name, arguments: args } };
}

/** Events of type chat.completion.chunk. */
export class ChatChunks implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #head: string;
  readonly #tail: string;
  readonly #includeUsage: boolean;

  constructor({ id, created, model, tier, fingerprint, upstream }: AnswerIdentity, includeUsage: boolean) {
    const common = { id, object: "chat.completion.chunk", created, model, service_tier: tier, ...markOf(upstream) };
    const fields = JSON.stringify({ ...common, system_fingerprint: fingerprint }).slice(0, -1);
    this.#head = `data: ${fields},"choices":[`;
    this.#includeUsage = includeUsage;
    this.#tail = includeUsage ? `],"usage":null}\n\n` : "]}\n\n";
  }

  first(choice: number): string {
    return this.#chunk(choice, `{"role":"assistant","content":""}`, "null", "null");
  }

  delta(choice: number, { text, reasoning, toolCalls = [], logprobs = [] }: TextDelta): string {
    const thought = reasoning === "" ? "" : `"reasoning_content":${JSON.stringify(reasoning)}`;
    const said = text === "" ? "" : `"content":${JSON.stringify(text)}`;
    const called = toolCalls.length === 0 ? "" : `"tool_calls":${JSON.stringify(toolCalls.map(callDelta))}`;
    const known = logprobs.length === 0 ? "null" : JSON.stringify(chatLogprobs(logprobs));
    return this.#chunk(choice, `{${[thought, said, called].filter(Boolean).join()}}`, known, "null");
  }

  last(choice: number, { reason }: SequenceFinish): string {
    return this.#chunk(choice, "{}", "null", `"${reason}"`);
  }

  end({ usage }: AnswerEnd): string {
    return this.#includeUsage ? `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n${DONE}` : DONE;
  }

  failed(error: ApiError): string {
    return errorEvent(error);
  }

  #chunk(choice: number, delta: string, logprobs: string, reason: string): string {
    return `${this.#head}{"index":${choice},"delta":${delta},"logprobs":${logprobs},"finish_reason":${reason}}${this.#tail}`;
  }
}

function callDelta({ index, id, name, arguments: args }: ToolCallDelta) {
  if (id === undefined) return { index, function: { arguments: args } };
  return { index, id, type: "function", function: { name, arguments: args } };
}
