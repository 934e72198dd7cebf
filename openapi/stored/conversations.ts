import { z } from "zod";
import { metadata } from "../metadata.ts";
import type { RequestLimits } from "../request-limits.ts";
import { inputItems } from "../responses/input-item.ts";

/** Most items that one request adds. */
const MAX_ADDED = 20;

/** Items as those of a response's input, but no references: they would have two places. */
function newItems(limits: RequestLimits) {
  return inputItems(limits, MAX_ADDED).check(({ value, issues }) => {
    const index = value.findIndex(({ type }) => type === "item_reference");
    if (index === -1) return;
    const message = "expected an item, not a reference to one";
    issues.push({ code: "custom", input: value, path: [index, "type"], message });
  });
}

/** POST /v1/conversations */
export function createConversation(limits: RequestLimits) {
  return z.object({
    metadata: metadata.nullish(),
    items: newItems(limits).nullish().describe(`The first items, at most ${MAX_ADDED}.`),
  });
}

/** POST /v1/conversations/{id} */
export const updateConversation = z.object({
  metadata: metadata.nullable().describe("Replaces the metadata; null removes it."),
});

/** POST /v1/conversations/{id}/items */
export function createItems(limits: RequestLimits) {
  return z.object({ items: newItems(limits).describe(`At most ${MAX_ADDED}.`) });
}

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
