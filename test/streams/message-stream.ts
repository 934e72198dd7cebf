import { anthropicError } from "../../openapi/anthropic/error.ts";
import {
  type AnswerBlock,
  type Message,
  type MessageEvent,
  type MessageUsage,
  messageEvent,
} from "../../openapi/anthropic/message.ts";
import { exact, rule, same } from "./rule.ts";
import type { NamedEvent } from "./sse.ts";

/**
 * Throws the Error of the rule that the events of a message break.
 *
 * @param cut true for a stream whose client left: it may end after any event
 * @returns the message to which the events add up; null for one that failed or was cut
 */
export function checkMessageStream(events: readonly NamedEvent[], cut = false): Message | null {
  const check = new StreamCheck();
  for (const event of events) check.take(event);
  rule(cut || check.over, "a stream ends with message_stop or an error", events.at(-1));
  return check.message;
}

const DELTAS: Readonly<Record<string, AnswerBlock["type"]>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "tool_use",
};

class StreamCheck {
  message: Message | null = null;
  over = false;
  #begun: Message | null = null;
  readonly #blocks: AnswerBlock[] = [];
  readonly #ids = new Set<string>();
  #open = false;
  /** The JSON text of the open block's input. */
  #input = "";
  #ending: Extract<MessageEvent, { type: "message_delta" }> | null = null;

  take({ name, data }: NamedEvent): void {
    rule(name !== null, "an event has a name", data);
    const value: unknown = JSON.parse(data);
    rule(name === Object(value).type, "an event has the name of its type", name);
    rule(!this.over, "nothing follows the last event", value);
    rule(this.#begun !== null || name === "message_start", "message_start is the first event", value);
    if (name === "ping") same(value, { type: "ping" }, "a ping has nothing else");
    else if (name !== "error") this.#read(exact(messageEvent, value));
    else {
      exact(anthropicError, value);
      this.over = true;
    }
  }

  #read(event: MessageEvent): void {
    rule(this.#ending === null || event.type === "message_stop", "message_delta is the last event but one", event);
    switch (event.type) {
      case "message_start":
        this.#start(event.message);
        return;
      case "content_block_start":
        this.#startBlock(event.index, event.content_block);
        return;
      case "content_block_delta":
        this.#checkOpen(event.index);
        this.#delta(event.delta);
        return;
      case "content_block_stop":
        this.#checkOpen(event.index);
        this.#stopBlock();
        return;
      case "message_delta":
        rule(!this.#open, "every block is stopped before the message ends", event);
        this.#ending = event;
        this.#checkEnding(event);
        return;
      case "message_stop":
        rule(this.#ending !== null, "message_delta precedes message_stop");
        this.message = {
          ...this.#begun!,
          content: this.#blocks,
          ...this.#ending.delta,
          usage: this.#ending.usage,
        };
        this.over = true;
    }
  }

  #start(message: Message): void {
    rule(this.#begun === null, "there is one message_start");
    same([message.content, message.stop_reason, message.stop_sequence], [[], null, null], "a message begins empty");
    rule(sizeOf(message.usage) > 0, "message_start has the size of the prompt", message.usage);
    rule(message.usage.output_tokens <= 1, "message_start has no tokens of the answer", message.usage);
    this.#begun = message;
  }

  #startBlock(index: number, block: AnswerBlock): void {
    rule(!this.#open, "a block is stopped before the next one starts", block);
    rule(index === this.#blocks.length, "the index of a block is the number of blocks before it", index);
    if (block.type === "text") same(block, { type: "text", text: "" }, "a text starts empty");
    else if (block.type === "thinking") {
      same(block, { type: "thinking", thinking: "", signature: "" }, "reasoning starts empty, with both its fields");
    } else {
      same(block.input, {}, "the input of a call starts as an empty object");
      rule(/^[a-zA-Z0-9_-]+$/.test(block.id) && !this.#ids.has(block.id), "a call has an id of its own", block);
      this.#ids.add(block.id);
    }
    this.#blocks.push(structuredClone(block));
    this.#open = true;
    this.#input = "";
  }

  #checkOpen(index: number): void {
    rule(this.#open && index === this.#blocks.length - 1, "an event of a block is of the open one", index);
  }

  #delta(delta: Extract<MessageEvent, { type: "content_block_delta" }>["delta"]): void {
    const block = this.#blocks.at(-1)!;
    rule(DELTAS[delta.type] === block.type, "a delta fits its block", { delta, block });
    const signed = block.type === "thinking" && block.signature !== "";
    rule(!signed, "the signature is the last delta of reasoning", delta);
    const [, added] = Object.values(delta);
    rule(added !== "", "a delta adds something", delta);
    if (delta.type === "text_delta" && block.type === "text") block.text += delta.text;
    if (delta.type === "thinking_delta" && block.type === "thinking") block.thinking += delta.thinking;
    if (delta.type === "signature_delta" && block.type === "thinking") block.signature = delta.signature;
    if (delta.type === "input_json_delta") this.#input += delta.partial_json;
  }

  #stopBlock(): void {
    const block = this.#blocks.at(-1)!;
    this.#open = false;
    if (block.type === "thinking") rule(block.signature !== "", "reasoning has a signature", block);
    if (block.type === "text") rule(block.text.trim() !== "", "a text is not white space alone", block);
    if (block.type === "tool_use" && this.#input !== "") {
      rule(this.#input.trimStart().startsWith("{"), "the input of a call is an object, or the beginning of one", block);
      block.input = parsed(this.#input) ?? { _raw: this.#input };
    }
  }

  #checkEnding({ delta, usage }: Extract<MessageEvent, { type: "message_delta" }>): void {
    const { usage: begun } = this.#begun!;
    rule(delta.stop_reason !== null, "the end has its reason", delta);
    const stopped = delta.stop_reason === "stop_sequence";
    rule((delta.stop_sequence !== null) === stopped, "a stop sequence is named where it ended the answer", delta);
    const called = this.#blocks.some(({ type }) => type === "tool_use");
    rule(delta.stop_reason !== "tool_use" || called, "an answer that ends for a call has one", delta);
    const cut = ["max_tokens", "model_context_window_exceeded"].includes(delta.stop_reason);
    rule(!called || cut || delta.stop_reason === "tool_use", "an answer with a call ends for it, or was cut", delta);
    rule(usage.output_tokens >= begun.output_tokens, "counts do not become less", usage);
    const inputs = ({ output_tokens: _, output_tokens_details: __, ...rest }: MessageUsage) => rest;
    same(inputs(usage), inputs(begun), "the counts of the prompt are those of message_start");
    const { thinking_tokens: thought } = usage.output_tokens_details;
    rule(thought <= usage.output_tokens, "tokens of reasoning are part of the output", usage);
  }
}

/** The tokens of the prompt. */
export function sizeOf({ input_tokens, cache_read_input_tokens, cache_creation_input_tokens }: MessageUsage): number {
  return input_tokens + cache_read_input_tokens + cache_creation_input_tokens;
}

/** Undefined for the text of a call that was cut off. */
function parsed(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
