import { z } from "zod";
import { chatResponse } from "../generation/chat.ts";
import { listOf, listQuery } from "../list.ts";
import { metadata } from "../metadata.ts";

const MAX_LISTED = 100;
const DEFAULT_LISTED = 20;

const order = z.enum(["asc", "desc"]).default("asc").describe("Order by time of creation.");
const filters = {
  model: z.string().max(512).optional(),
  metadata: metadata.optional().describe("Sent as `metadata[key]=value`; every pair must fit."),
};

/** The query of GET /v1/chat/completions. */
export const completionListQuery = z.object({
  ...listQuery({ most: MAX_LISTED, usual: DEFAULT_LISTED }),
  order,
  ...filters,
});

/** POST /v1/chat/completions/{id} */
export const updateCompletion = z.object({
  metadata: metadata.nullable().describe("Replaces the metadata; null removes it."),
});

export const storedCompletion = chatResponse.extend({
  metadata: z.record(z.string(), z.string()),
  request_id: z.string().nullable().describe("The `x-request-id` of its request; null for a batch line."),
  tool_choice: z.unknown(),
  tools: z.array(z.unknown()).nullable(),
  seed: z.number().nullable(),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  response_format: z.unknown(),
  input_user: z.string().nullable(),
});
export const storedCompletionList = listOf(storedCompletion);

export const completionDeleted = z.object({
  id: z.string(),
  object: z.literal("chat.completion.deleted"),
  deleted: z.literal(true),
});

/** The query of GET /v1/chat/completions/{id}/messages. */
export const messageListQuery = z.object({ ...listQuery({ most: MAX_LISTED, usual: DEFAULT_LISTED }), order });

export const storedMessage = z.looseObject({
  id: z.string().describe("The completion's id and the position of the message."),
  role: z.string(),
  content: z.string().nullable().describe("The text; of a message with parts, their text."),
  name: z.string().nullable(),
  content_parts: z.array(z.unknown()).nullable().describe("The parts of a message that had them."),
});
export const storedMessageList = listOf(storedMessage);

const seconds = z
  .string()
  .regex(/^\d{1,12}$/, "expected Unix seconds")
  .transform(Number);

/** The query of GET /v1/nightshift/export. */
export const exportQuery = z.object({
  ...filters,
  source: z.enum(["chat.completions", "responses"]).optional().describe("Default: both."),
  created_after: seconds.optional().describe("Unix seconds, inclusive."),
  created_before: seconds.optional().describe("Unix seconds, exclusive."),
  finish_reason: z
    .enum(["stop", "tool_calls", "length"])
    .optional()
    .describe("Default: answers that the model has ended, `stop` and `tool_calls`."),
  split: z.enum(["train", "validation"]).optional().describe("One of the two parts. Default: all lines."),
  validation_percent: z
    .string()
    .regex(/^\d{1,2}$/, "expected a whole number from 0 to 99")
    .transform(Number)
    .default(10)
    .describe("Share of the lines that are for validation, by a hash of their messages before the answer."),
});
export type ExportQuery = z.infer<typeof exportQuery>;
