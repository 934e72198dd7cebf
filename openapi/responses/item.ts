import { z } from "zod";
import { chatLogprobs } from "../generation/logprobs.ts";

/** The state of an item. Items that came to their end are `completed`, the one that a bound cut short is `incomplete`. */
export const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);
export type ItemStatus = z.infer<typeof itemStatus>;

const id = z.string();
const callId = z.string().describe("The id by which an output names its call.");

export const tokenLogprobs = chatLogprobs.unwrap().shape.content;

export const inputText = z.object({ type: z.literal("input_text"), text: z.string() });
export const outputText = z.object({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: tokenLogprobs.describe("Empty unless requested."),
});
export const refusal = z.object({ type: z.literal("refusal"), refusal: z.string() });
export const reasoningText = z.object({ type: z.literal("reasoning_text"), text: z.string() });
export const summaryText = z.object({ type: z.literal("summary_text"), text: z.string() });

export const MESSAGE_ROLES = ["user", "assistant", "system", "developer"] as const;
/** The kind of an assistant's message, which clients give back as they got it. */
export const messagePhase = z.enum(["commentary", "final_answer"]);

export const messageItem = z.object({
  id,
  type: z.literal("message"),
  role: z.enum(MESSAGE_ROLES),
  status: itemStatus,
  content: z.array(z.discriminatedUnion("type", [inputText, outputText, refusal])),
  phase: messagePhase.optional(),
});
const answerMessage = messageItem.omit({ phase: true }).extend({
  role: z.literal("assistant"),
  content: z.array(outputText),
});
const functionCall = z.object({
  id,
  type: z.literal("function_call"),
  call_id: callId,
  name: z.string(),
  arguments: z.string().describe("JSON text as the model wrote it."),
  status: itemStatus,
});
const customToolCall = z.object({
  id,
  type: z.literal("custom_tool_call"),
  call_id: callId,
  name: z.string(),
  input: z.string(),
  status: itemStatus,
});
const reasoning = z.object({
  id,
  type: z.literal("reasoning"),
  summary: z.array(summaryText).describe("The reasoning as one part, where `reasoning.summary` asked for it."),
  content: z.array(reasoningText).optional(),
  encrypted_content: z
    .string()
    .optional()
    .describe("The reasoning, sealed for this server and this owner, where `include` asked for it."),
  status: itemStatus,
});
const output = z.union([z.string(), z.array(inputText)]);
const functionCallOutput = z.object({
  id,
  type: z.literal("function_call_output"),
  call_id: callId,
  output,
  status: itemStatus,
});
export const compaction = z.object({
  id,
  type: z.literal("compaction"),
  encrypted_content: z.string().describe("A summary of what came before, sealed for this server and this owner."),
});
const customToolCallOutput = z.object({ id, type: z.literal("custom_tool_call_output"), call_id: callId, output });

/** An item that a response generated. */
export const outputItem = z.discriminatedUnion("type", [
  answerMessage,
  functionCall,
  customToolCall,
  reasoning,
  compaction,
]);
export type OutputItem = z.infer<typeof outputItem>;

/** An item of a conversation, given by a client or generated, in the one form in which items are kept and listed. */
export const item = z.discriminatedUnion("type", [
  messageItem,
  functionCall,
  functionCallOutput,
  customToolCall,
  customToolCallOutput,
  reasoning,
  compaction,
]);
export type Item = z.infer<typeof item>;

/** An item of a client, which gets an id of this server when it is kept. */
export type GivenItem = Item extends infer Each ? (Each extends Item ? Omit<Each, "id"> : never) : never;

/** The beginning of the ids of each type. */
export const ITEM_PREFIXES: Readonly<Record<Item["type"], string>> = {
  message: "msg_",
  function_call: "fc_",
  function_call_output: "fco_",
  custom_tool_call: "ctc_",
  custom_tool_call_output: "ctco_",
  reasoning: "rs_",
  compaction: "cmp_",
};
