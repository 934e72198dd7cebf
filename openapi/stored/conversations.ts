import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { metadata } from "../metadata.ts";
import { newItem } from "./items.ts";

/** Most items that one request adds. */
const MAX_ADDED = 20;

/** POST /v1/conversations */
export const createConversation = z.object({
  metadata: metadata.nullish(),
  items: boundedList(newItem, { max: MAX_ADDED }).nullish().describe(`The first items, at most ${MAX_ADDED}.`),
});

/** POST /v1/conversations/{id} */
export const updateConversation = z.object({
  metadata: metadata.nullable().describe("Replaces the metadata; null removes it."),
});

/** POST /v1/conversations/{id}/items */
export const createItems = z.object({ items: boundedList(newItem, { min: 1, max: MAX_ADDED }) });

export const conversation = z.object({
  id: z.string(),
  object: z.literal("conversation"),
  created_at: z.int().describe("Unix seconds."),
  metadata: z.record(z.string(), z.string()),
});
export type Conversation = z.infer<typeof conversation>;

export const conversationDeleted = z.object({
  id: z.string(),
  object: z.literal("conversation.deleted"),
  deleted: z.literal(true),
});
