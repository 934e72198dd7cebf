import type { SequenceFinish, ToolCallDelta } from "../../../engine/protocol/output.ts";
import { anthropicErrorBody } from "../../../openapi/anthropic/error.ts";
import type { AnswerBlock, MessageEvent } from "../../../openapi/anthropic/message.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { AnswerEnd } from "../../generation/output/sink.ts";
import {
  type AnswerIdentity,
  type ChoiceStart,
  EVENT_STREAM,
  type StreamFormat,
  type TextDelta,
} from "../../generation/output/stream-format.ts";
import { toolUseId } from "./call-id.ts";
import { InputPieces } from "./call-input.ts";
import { emptyMessage, ending, messageUsage } from "./message.ts";
import { type Reported, SIGNATURE } from "./reported.ts";

/** Named events. A block ends before the next one begins, and their indexes count from 0: clients append at each start. */
export class MessageEvents implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #identity: AnswerIdentity;
  readonly #reported: Reported;
  readonly #requestId: string;
  #open: AnswerBlock["type"] | null = null;
  #blocks = 0;
  /** The index, in the answer, of the call that the open block has. */
  #call = -1;
  #input = new InputPieces();
  /** White space that begins a text block, if other text follows. */
  #held = "";
  #finish: SequenceFinish | null = null;

  constructor(identity: AnswerIdentity, reported: Reported, requestId: string) {
    this.#identity = identity;
    this.#reported = reported;
    this.#requestId = requestId;
  }

  first(_choice: number, { promptTokens, cachedTokens }: ChoiceStart): string {
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: 0,
      total_tokens: promptTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: 0 },
    };
    const message = emptyMessage(this.#identity, messageUsage(usage, this.#identity.tier));
    return event({ type: "message_start", message });
  }

  delta(_choice: number, { text, reasoning, toolCalls = [] }: TextDelta): string {
    return this.#thought(reasoning) + this.#said(text) + toolCalls.map((call) => this.#called(call)).join("");
  }

  last(_choice: number, finish: SequenceFinish): string {
    this.#finish = finish;
    return this.#close();
  }

  end({ usage }: AnswerEnd): string {
    const delta = ending(this.#finish!, this.#reported);
    const counts = messageUsage(usage, this.#identity.tier);
    return event({ type: "message_delta", delta, usage: counts }) + event({ type: "message_stop" });
  }

  failed(error: ApiError): string {
    return named("error", anthropicErrorBody(error, this.#requestId));
  }

  keepAlive(): string {
    return event({ type: "ping" });
  }

  #thought(thinking: string): string {
    const { thoughts } = this.#reported;
    if (thinking === "" || thoughts === "none") return "";
    const begun = this.#begun({ type: "thinking", thinking: "", signature: "" });
    return thoughts === "text" ? begun + this.#delta({ type: "thinking_delta", thinking }) : begun;
  }

  #said(piece: string): string {
    if (piece === "") return "";
    const text = this.#held + piece;
    if (this.#open !== "text" && text.trim() === "") {
      this.#held = text;
      return "";
    }
    this.#held = "";
    return this.#begun({ type: "text", text: "" }) + this.#delta({ type: "text_delta", text });
  }

  /** A call's first piece has its id and name. */
  #called({ index, id, name = "", arguments: args }: ToolCallDelta): string {
    let events = "";
    if (id !== undefined && index !== this.#call) {
      this.#call = index;
      const caller = { type: "direct" } as const;
      events = this.#close() + this.#begun({ type: "tool_use", id: toolUseId(id), name, input: {}, caller });
      this.#input = new InputPieces();
    }
    return events + this.#inputDelta(this.#input.push(args));
  }

  #inputDelta(partial_json: string): string {
    return partial_json === "" ? "" : this.#delta({ type: "input_json_delta", partial_json });
  }

  /** The block of this type, which begins unless it is open. */
  #begun(content_block: AnswerBlock): string {
    if (this.#open === content_block.type) return "";
    const closed = this.#close();
    this.#open = content_block.type;
    this.#blocks++;
    return closed + event({ type: "content_block_start", index: this.#index, content_block });
  }

  #close(): string {
    const type = this.#open;
    this.#open = null;
    this.#held = "";
    if (type === null) return "";
    const signed = type === "thinking" ? this.#delta({ type: "signature_delta", signature: SIGNATURE }) : "";
    const rest = type === "tool_use" ? this.#inputDelta(this.#input.end()) : "";
    return signed + rest + event({ type: "content_block_stop", index: this.#index });
  }

  #delta(delta: Extract<MessageEvent, { type: "content_block_delta" }>["delta"]): string {
    return event({ type: "content_block_delta", index: this.#index, delta });
  }

  /** Of the block that began last. */
  get #index(): number {
    return this.#blocks - 1;
  }
}

/** Clients dispatch on the name, and drop events without one. */
function event(data: MessageEvent): string {
  return named(data.type, data);
}

function named(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
