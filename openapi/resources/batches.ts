import { z } from "zod";
import { listOf, listQuery } from "../list.ts";
import { MAX_METADATA_PAIRS, metadata } from "../metadata.ts";

/** The endpoints of batches. */
export const BATCH_ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** The transitions between them are in store/types/batch-row.ts. */
export const BATCH_STATUSES = [
  "validating",
  "failed",
  "in_progress",
  "finalizing",
  "completed",
  "expired",
  "cancelling",
  "cancelled",
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

export const MAX_BATCH_LINES = 50_000;
/** Inputs of embeddings in all lines of a batch together. */
export const MAX_BATCH_INPUTS = 50_000;
export const COMPLETION_WINDOW = "24h";
const HOUR = 3600;
const MAX_EXPIRY = 30 * 24 * HOUR;

/** POST /v1/batches. */
export const batchRequest = z.object({
  input_file_id: z.string().min(1).max(128).describe("A file of purpose `batch`: one JSON request per line."),
  endpoint: z.enum(BATCH_ENDPOINTS),
  completion_window: z.literal(COMPLETION_WINDOW),
  metadata: metadata.nullish().describe(`At most ${MAX_METADATA_PAIRS} pairs.`),
  output_expires_after: z
    .object({ anchor: z.literal("created_at"), seconds: z.int().min(HOUR).max(MAX_EXPIRY) })
    .nullish()
    .describe("When the output and error files expire. Default: never."),
});
export type BatchRequest = z.infer<typeof batchRequest>;

/** The query of GET /v1/batches. */
export const batchListQuery = z.object(listQuery({ most: 100, usual: 20 }));

const time = z.int().nullable().describe("Unix seconds; null until the batch enters this status.");
const count = z.int().min(0);

export const batchError = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().nullable().describe("Line of the input file, from 1; null for an error of the whole batch."),
});
export type BatchError = z.infer<typeof batchError>;

const nightshift = z
  .object({
    phase: z.enum(["validating", "waiting", "running", "finalizing", "stopping", "ended"]),
    reason: z.string().describe("Why the batch is in this phase, as text for people."),
    position: z
      .int()
      .nullable()
      .describe("Position among the batches of the model by expected end, from 1; null when not queued."),
    eta: z.int().nullable().describe("Expected end at the present rate, in Unix seconds; null when unknown."),
    progress: z.object({
      tokens_total: count.describe("Estimated from the size of the input and the token limits of its lines."),
      tokens_done: count.describe("The estimate for the lines that have ended."),
      tokens_per_second: z
        .number()
        .nullable()
        .describe(
          "Rate of all batch lines of the model at their present share of the engine, in the estimated tokens above. `eta` " +
            "follows from it. It is a mean in which work counts half after ten minutes of later work. Null until a line " +
            "has ended since the start of the server, and for a batch that is not in progress.",
        ),
      lines_in_engine: count,
    }),
    cost: z.object({ usd: z.number() }).describe("Cost of the lines that have finished."),
  })
  .describe("Extension.");

export const batch = z.object({
  id: z.string(),
  object: z.literal("batch"),
  endpoint: z.string(),
  model: z.string().nullable(),
  errors: z.object({ object: z.literal("list"), data: z.array(batchError) }).nullable(),
  input_file_id: z.string(),
  completion_window: z.string(),
  status: z.enum(BATCH_STATUSES),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: z.int(),
  in_progress_at: time,
  expires_at: z.int(),
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: z.object({ total: count, completed: count, failed: count }),
  usage: z.object({
    input_tokens: count,
    input_tokens_details: z.object({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.object({ reasoning_tokens: count }),
    total_tokens: count,
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
  nightshift,
});
export type Batch = z.infer<typeof batch>;
export type BatchDetails = z.infer<typeof nightshift>;

export const batchList = listOf(batch);
export type BatchList = z.infer<typeof batchList>;
