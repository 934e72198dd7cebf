import type { SequenceFinish } from "../../../engine/protocol/output.ts";
import type { AnswerBlock, Message, MessageUsage, StopReason } from "../../../openapi/anthropic/message.ts";
import { markOf } from "../../../openapi/generation/answer-mark.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";
import type { WholeChoice, WholeToolCall } from "../../generation/output/body-sink.ts";
import type { AnswerEnd } from "../../generation/output/sink.ts";
import type { AnswerIdentity } from "../../generation/output/stream-format.ts";
import { toolUseId } from "./call-id.ts";
import { inputOf } from "./call-input.ts";
import { type Reported, SIGNATURE } from "./reported.ts";

/** The whole answer. */
export function wholeMessage(
  identity: AnswerIdentity,
  [choice]: readonly WholeChoice[],
  { usage }: AnswerEnd,
  reported: Reported,
): Message {
  const { finish, ...said } = choice!;
  return {
    ...emptyMessage(identity, messageUsage(usage, identity.tier)),
    content: blocksOf(said, reported),
    ...ending(finish, reported),
  };
}

/** A message without content, whose end is not known. */
export function emptyMessage({ id, model, upstream }: AnswerIdentity, usage: MessageUsage): Message {
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage,
    ...markOf(upstream),
  };
}

function blocksOf({ text, reasoning, calls }: Omit<WholeChoice, "finish">, { thoughts }: Reported): AnswerBlock[] {
  const thinking = thoughts === "text" ? reasoning : "";
  return [
    ...(thoughts !== "none" && reasoning !== "" ? [{ type: "thinking" as const, thinking, signature: SIGNATURE }] : []),
    // A block of white space would be refused by Anthropic when it is sent back.
    ...(text.trim() === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(toolUse),
  ];
}

function toolUse({ id, name, arguments: args }: WholeToolCall): AnswerBlock {
  return { type: "tool_use", id: toolUseId(id), name, input: inputOf(args), caller: { type: "direct" } };
}

/** The cause of the end. */
export function ending({ reason, stop, completionTokens }: SequenceFinish, { maxTokens }: Reported) {
  const cut = completionTokens < maxTokens ? "model_context_window_exceeded" : "max_tokens";
  const ended = stop === null ? "end_turn" : "stop_sequence";
  const reasons = { tool_calls: "tool_use", length: cut, stop: ended } as const satisfies Record<string, StopReason>;
  // A stop string after a call ends the answer too, for which the call is the reason.
  const stop_sequence = reason === "stop" ? stop : null;
  return { stop_reason: reasons[reason], stop_sequence, stop_details: null, container: null };
}

export function messageUsage(usage: Usage, tier: AnswerIdentity["tier"]): MessageUsage {
  const cached = usage.prompt_tokens_details.cached_tokens;
  return {
    input_tokens: usage.prompt_tokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { thinking_tokens: usage.completion_tokens_details.reasoning_tokens },
    server_tool_use: null,
    service_tier: tier === "priority" ? "priority" : "standard",
    inference_geo: null,
  };
}
