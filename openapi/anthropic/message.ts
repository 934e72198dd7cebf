import { z } from "zod";
import { answerMark } from "../generation/answer-mark.ts";

const count = z.int().min(0);

export const messageUsage = z.object({
  input_tokens: count.describe("Tokens of the prompt that were computed; the sum of the three counts is its size."),
  cache_creation_input_tokens: z.literal(0),
  cache_read_input_tokens: count.describe("Tokens of the prompt that were taken from the prefix cache."),
  cache_creation: z.object({ ephemeral_5m_input_tokens: z.literal(0), ephemeral_1h_input_tokens: z.literal(0) }),
  output_tokens: count.describe("Reasoning that is not in the answer included."),
  output_tokens_details: z.object({ thinking_tokens: count }),
  server_tool_use: z.null(),
  service_tier: z.enum(["standard", "priority", "batch"]).describe("`standard` for the tiers `default` and `flex`."),
  inference_geo: z.null(),
});
export type MessageUsage = z.infer<typeof messageUsage>;

export const stopReason = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "model_context_window_exceeded",
]);
export type StopReason = z.infer<typeof stopReason>;

const textBlock = z.object({ type: z.literal("text"), text: z.string() });
const thinkingBlock = z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() });
const toolUseBlock = z.object({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z
    .record(z.string(), z.unknown())
    .describe("An input that is not a JSON object, such as one that was cut, is its text in the field `_raw`."),
  caller: z.object({ type: z.literal("direct") }),
});
const block = z.discriminatedUnion("type", [thinkingBlock, textBlock, toolUseBlock]);
export type AnswerBlock = z.infer<typeof block>;

/** The answer to POST /v1/messages. */
export const message = z.object({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(block),
  stop_reason: stopReason.nullable().describe("null in `message_start` alone."),
  stop_sequence: z.string().nullable().describe("The text of `stop_sequences` that ended the answer."),
  stop_details: z.null(),
  container: z.null(),
  usage: messageUsage,
  nightshift: answerMark,
});
export type Message = z.infer<typeof message>;

const index = z.int().describe("The index of the block in `content`. A block begins after the one before has ended.");

/** The data of an event of a stream, whose name is its `type`. */
export const messageEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message_start"), message }),
  z.object({ type: z.literal("content_block_start"), index, content_block: block }),
  z.object({
    type: z.literal("content_block_delta"),
    index,
    delta: z.discriminatedUnion("type", [
      z.object({ type: z.literal("text_delta"), text: z.string() }),
      z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
      z.object({ type: z.literal("signature_delta"), signature: z.string() }),
      z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
    ]),
  }),
  z.object({ type: z.literal("content_block_stop"), index }),
  z.object({
    type: z.literal("message_delta"),
    delta: message.pick({ stop_reason: true, stop_sequence: true, stop_details: true, container: true }),
    usage: messageUsage.describe("Of the whole answer."),
  }),
  z.object({ type: z.literal("message_stop") }),
  z.object({ type: z.literal("ping") }).describe("Every 15 s in which the stream has no other event."),
]);
export type MessageEvent = z.infer<typeof messageEvent>;
