import { z } from "zod";
import { flag, wholeNumber } from "../query-value.ts";

const count = z.int().min(0);
const text = z.string().nullable();

const origin = {
  upstream: text.describe(
    "With `group_by=upstream`: the upstream that computed the answers; null where this server did.",
  ),
  system_fingerprint: text.describe("With `group_by=system_fingerprint`: the `system_fingerprint` of the answers."),
};

const estimated = {
  estimated_requests: count.describe(
    "Of these, requests whose tokens an upstream has not counted: they are estimates.",
  ),
  estimated_input_tokens: count.describe("The part of `input_tokens` that such requests have."),
};

const usageResult = z.object({
  object: z.literal("organization.usage.completions.result"),
  input_tokens: count.describe("Cached tokens included."),
  input_cached_tokens: count,
  input_cache_write_tokens: count.describe("Always 0: writing to the cache is not charged."),
  input_uncached_tokens: count,
  output_tokens: count,
  input_text_tokens: count.describe("Equal to `input_uncached_tokens`: all input is text."),
  output_text_tokens: count,
  input_cached_text_tokens: count,
  input_audio_tokens: count,
  input_cached_audio_tokens: count,
  output_audio_tokens: count,
  input_image_tokens: count,
  input_cached_image_tokens: count,
  output_image_tokens: count,
  num_model_requests: count,
  project_id: text.describe("Null unless in `group_by`; the following ids and names likewise."),
  user_id: text,
  api_key_id: text,
  model: text,
  batch: z.boolean().nullable(),
  service_tier: text.describe("`priority`, `default`, `flex` or `batch`."),
  nightshift: z.object({
    endpoint: text.describe("Extension. With `group_by=endpoint`."),
    ...origin,
    reasoning_tokens: count.describe("Included in `output_tokens`."),
    ...estimated,
    estimated_output_tokens: count.describe("The part of `output_tokens` that such requests have."),
    cost_nano_usd: z.int().describe("Cost in billionths of a USD."),
    default_cost_nano_usd: z.int().describe("Cost at tier `default`, in billionths of a USD."),
  }),
});

const embeddingsResult = z.object({
  object: z.literal("organization.usage.embeddings.result"),
  input_tokens: count,
  num_model_requests: count,
  project_id: text.describe("Null unless in `group_by`; the following ids and names likewise."),
  user_id: text,
  api_key_id: text,
  model: text,
  nightshift: z.object({
    endpoint: text.describe("Extension. With `group_by=endpoint`: /v1/embeddings or /v1/rerank."),
    ...origin,
    service_tier: text.describe("Extension. With `group_by=service_tier`: `priority`, `default`, `flex` or `batch`."),
    ...estimated,
    cost_nano_usd: z.int().describe("Cost in billionths of a USD."),
    default_cost_nano_usd: z.int().describe("Cost at tier `default`, in billionths of a USD."),
  }),
});

const usd = z.number().min(0).nullable();
const price = "Null without --machine-usd-per-hour";
const spotPrice = "The same at the price of a spot machine. Null without --machine-spot-usd-per-hour.";
const perMillion = "Per million of the tokens counted here, input and output together. Null without tokens or price.";
const machineCost = {
  usd: usd.describe(`Cost of this machine time at the present price. ${price}.`),
  spot_usd: usd.describe(spotPrice),
  usd_per_million_tokens: usd.describe(perMillion),
  spot_usd_per_million_tokens: usd,
};

const machineResult = z.object({
  seconds: z
    .number()
    .min(0)
    .describe("Seconds of engine steps and embedding batches, divided among the requests in each."),
  ...machineCost,
});

const machineBucket = z.object({
  up_seconds: z.number().min(0).describe("Seconds for which a server was running."),
  seconds: z
    .object({ online: z.number(), flex: z.number(), batch: z.number(), idle: z.number() })
    .describe("Use of the machine in this time. `online` is tiers `priority` and `default`."),
  idle_share: z.number().min(0).max(1).nullable().describe("Null when no server was running."),
  ...machineCost,
});

const costsResult = z.object({
  object: z.literal("organization.costs.result"),
  amount: z.object({ value: z.number(), currency: z.literal("usd") }),
  line_item: text.describe("With `group_by=line_item`: `model, tier`."),
  project_id: text,
  api_key_id: text,
  quantity: z.number().nullable().describe("With `group_by=line_item`: tokens, input and output together."),
  quantity_unit: text,
  nightshift: z.object({
    endpoint: text.describe("Extension. With `group_by=endpoint`; `model` and `service_tier` likewise."),
    ...origin,
    model: text,
    service_tier: text,
    tokens: count.describe("Input and output together."),
    cost_nano_usd: z.int().describe("The exact amount, in billionths of a USD."),
    default_cost_nano_usd: z.int().describe("Cost at tier `default`, in billionths of a USD."),
    estimated_tokens: count.describe("The part of `tokens` that an upstream has not counted: they are estimates."),
    estimated_cost_nano_usd: z.int().describe("The part of `cost_nano_usd` of requests with such tokens."),
    machine: machineResult
      .nullable()
      .describe(
        "Machine time of these requests. Null when filtered by project or key, or grouped by these, by upstream or by fingerprint.",
      ),
  }),
});

function bucketOf<Result extends z.ZodType>(result: Result) {
  return z.object({
    object: z.literal("bucket"),
    start_time: z.int(),
    end_time: z.int(),
    results: z.array(result),
  });
}

function pageOf<Bucket extends z.ZodType>(bucket: Bucket) {
  return z.object({
    object: z.literal("page"),
    data: z.array(bucket),
    has_more: z.boolean(),
    next_page: text,
  });
}

const costsBucket = bucketOf(costsResult).extend({
  nightshift: z.object({
    machine: machineBucket
      .nullable()
      .describe("Machine time in total, idle time included. Null when filtered by project or key."),
  }),
});

export const usagePage = pageOf(bucketOf(usageResult));
export const embeddingsUsagePage = pageOf(bucketOf(embeddingsResult));
export const costsPage = pageOf(costsBucket);
export type UsageResult = z.infer<typeof usageResult>;
export type UsagePage = z.infer<typeof usagePage>;
export type EmbeddingsUsageResult = z.infer<typeof embeddingsResult>;
export type EmbeddingsUsagePage = z.infer<typeof embeddingsUsagePage>;
export type CostsResult = z.infer<typeof costsResult>;
export type CostsBucket = z.infer<typeof costsBucket>;
export type MachineResult = z.infer<typeof machineResult>;
export type MachineBucket = z.infer<typeof machineBucket>;
export type CostsPage = z.infer<typeof costsPage>;

const DAY = 86_400;
/** By width: seconds, buckets of a page by default and at most. */
export const BUCKET_WIDTHS = {
  "1m": { seconds: 60, limit: 60, max: 1440 },
  "1h": { seconds: 3600, limit: 24, max: 168 },
  "1d": { seconds: DAY, limit: 7, max: 31 },
} as const;
/** Hours are an extension. */
export const COSTS_BUCKET_WIDTHS = {
  "1h": { seconds: 3600, limit: 24, max: 168 },
  "1d": { seconds: DAY, limit: 7, max: 180 },
} as const;

/** A number of a query; 12 digits are enough for every time in seconds. */
const written = wholeNumber(12);
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(100).optional();

const range = {
  start_time: written,
  end_time: written.optional(),
  limit: written.optional(),
  page: z.string().max(64).optional(),
  format: z
    .enum(["json", "csv"])
    .default("json")
    .describe(
      "`csv`, an extension: one line per result (RFC 4180); x-nightshift-next-page has the cursor of the next page.",
    ),
  project_ids: list(z.string()),
  api_key_ids: list(z.string()),
};

/** Groups of every report that OpenAI's have not. */
const OWN_GROUPS = ["endpoint", "upstream", "system_fingerprint"] as const;

export const usageQuery = z.object({
  ...range,
  bucket_width: z.enum(["1m", "1h", "1d"]).default("1d"),
  user_ids: list(z.string()),
  models: list(z.string()),
  batch: flag.optional(),
  group_by: list(z.enum(["project_id", "user_id", "api_key_id", "model", "batch", "service_tier", ...OWN_GROUPS])),
});

export const embeddingsUsageQuery = usageQuery.omit({ batch: true }).extend({
  group_by: list(z.enum(["project_id", "user_id", "api_key_id", "model", "service_tier", ...OWN_GROUPS])),
});

export const costsQuery = z.object({
  ...range,
  bucket_width: z.enum(["1h", "1d"]).default("1d"),
  group_by: list(z.enum(["project_id", "line_item", "api_key_id", "model", "service_tier", ...OWN_GROUPS])),
});
