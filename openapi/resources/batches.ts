import { z } from "zod";
import { boundedMap } from "../bounded.ts";
import { listOf, listQuery } from "../list.ts";

/** Endpoints that a batch may name. */
export const BATCH_ENDPOINTS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** What becomes what stands in store/types/batch-row.ts. */
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
/** Of all lines of a batch together. */
export const MAX_BATCH_INPUTS = 50_000;
export const COMPLETION_WINDOW = "24h";
const MAX_METADATA_PAIRS = 16;
const HOUR = 3600;
const MAX_EXPIRY = 30 * 24 * HOUR;

const metadata = boundedMap(z.string().max(64), z.string().max(512), MAX_METADATA_PAIRS);

/** POST /v1/batches. */
export const batchRequest = z.object({
  input_file_id: z.string().min(1).max(128).describe("A file of purpose `batch`: one JSON request per line."),
  endpoint: z.enum(BATCH_ENDPOINTS),
  completion_window: z.literal(COMPLETION_WINDOW),
  metadata: metadata.nullish().describe(`At most ${MAX_METADATA_PAIRS} pairs.`),
  output_expires_after: z
    .object({ anchor: z.literal("created_at"), seconds: z.int().min(HOUR).max(MAX_EXPIRY) })
    .nullish()
    .describe("When the output and error files expire. Default: they stay."),
});
export type BatchRequest = z.infer<typeof batchRequest>;

/** The query of GET /v1/batches. */
export const batchListQuery = z.object(listQuery({ most: 100, usual: 20 }));

const time = z.int().nullable().describe("Unix seconds; null until that state was entered.");
const count = z.int().min(0);

export const batchError = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().nullable().describe("1-based, of the input file."),
});
export type BatchError = z.infer<typeof batchError>;

const nightshift = z
  .object({
    phase: z.enum(["validating", "waiting", "running", "finalizing", "stopping", "ended"]),
    reason: z.string().describe("Why it stands where it stands, for people."),
    position: z
      .int()
      .nullable()
      .describe("Its place among the batches of this model by their expected ends, from 1; null when not queued."),
    eta: z.int().nullable().describe("Unix seconds at which it ends at the present rate; null when not known."),
    progress: z.object({
      tokens_total: count.describe("Estimated from the input's size and the lines' token limits."),
      tokens_done: count.describe("The estimate of the lines that are over."),
      tokens_per_second: z
        .number()
        .nullable()
        .describe(
          "What all batch lines of this model get through with their present share of the engine, in the tokens above: a " +
            "mean in which work counts half after ten minutes more of it, and by which eta is told. Null until a line " +
            "has ended since the server's start, and for a batch that is not in progress.",
        ),
      lines_in_engine: count,
    }),
    cost: z.object({ usd: z.number() }).describe("Of the finished lines so far."),
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
export type Night = z.infer<typeof nightshift>;

export const batchList = listOf(batch);
export type BatchList = z.infer<typeof batchList>;
