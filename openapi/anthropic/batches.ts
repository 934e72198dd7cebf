import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import { lineMark } from "../generation/answer-mark.ts";
import { MAX_BATCH_LINES } from "../resources/batches.ts";
import { anthropicError } from "./error.ts";
import { message } from "./message.ts";
import { anthropicPageOf } from "./page.ts";

const customId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, { error: "expected 1 to 64 letters, digits, _ or -" });

/** POST /v1/messages/batches. */
export const messageBatchRequest = z.object({
  requests: boundedList(
    z.object({
      custom_id: customId.describe("Unique in the batch."),
      params: anyObject().describe("The fields of POST /v1/messages. They are checked when the request runs."),
    }),
    { min: 1, max: MAX_BATCH_LINES },
  ).check((context) => {
    const seen = new Set<string>();
    for (const [index, { custom_id: id }] of context.value.entries()) {
      if (seen.has(id)) {
        const message = "another request has the same custom_id";
        context.issues.push({ code: "custom", input: id, path: [index, "custom_id"], message });
        return;
      }
      seen.add(id);
    }
  }),
});
export type MessageBatchRequest = z.infer<typeof messageBatchRequest>;

const count = z.int().min(0);
const time = z.string().nullable().describe("RFC 3339; null until then.");

export const messageBatch = z.object({
  id: z.string(),
  type: z.literal("message_batch"),
  processing_status: z.enum(["in_progress", "canceling", "ended"]),
  request_counts: z
    .object({ processing: count, succeeded: count, errored: count, canceled: count, expired: count })
    .describe("All requests are in `processing` until the batch has ended."),
  created_at: z.string().describe("RFC 3339."),
  expires_at: z.string().describe("The time at which requests that have not run expire."),
  ended_at: time,
  cancel_initiated_at: time,
  archived_at: time,
  results_url: z.string().nullable().describe("null until the batch has ended, and when its results are gone."),
});
export type MessageBatch = z.infer<typeof messageBatch>;

export const messageBatchPage = anthropicPageOf(messageBatch);

export const messageBatchDeleted = z.object({ id: z.string(), type: z.literal("message_batch_deleted") });

/** A line of the results. */
export const messageBatchResult = z.object({
  custom_id: z.string(),
  result: z.discriminatedUnion("type", [
    z.object({ type: z.literal("succeeded"), message: message.extend({ nightshift: lineMark }) }),
    z.object({ type: z.literal("errored"), error: anthropicError }),
    z.object({ type: z.literal("canceled") }),
    z.object({ type: z.literal("expired") }),
  ]),
});
export type MessageBatchResult = z.infer<typeof messageBatchResult>;
