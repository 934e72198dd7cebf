import type {
  EmbeddingsUsagePage,
  EmbeddingsUsageResult,
  UsagePage,
  UsageResult,
} from "../openapi/organization-usage.ts";
import type { UsageSum } from "../store/usage.ts";
import type { BucketPage } from "./buckets.ts";

/** Sums of the ledger as OpenAI's usage page. */
export function usagePageOf(page: BucketPage, sums: readonly UsageSum[]): UsagePage {
  const within = byBucket(sums);
  return pageOf(page, (bucket) => ({ ...bucket, results: within(bucket.start_time).map(usageResult) }));
}

/** Sums over what was read for vectors and scores. */
export function embeddingsPageOf(page: BucketPage, sums: readonly UsageSum[]): EmbeddingsUsagePage {
  const within = byBucket(sums);
  return pageOf(page, (bucket) => ({ ...bucket, results: within(bucket.start_time).map(embeddingsResult) }));
}

/** A page of the buckets that are filled so. */
export function pageOf<Bucket>(
  { buckets, width, nextPage }: BucketPage,
  fill: (bucket: { object: "bucket"; start_time: number; end_time: number }) => Bucket,
) {
  return {
    object: "page" as const,
    data: buckets.map((start) => fill({ object: "bucket", start_time: start, end_time: start + width })),
    has_more: nextPage !== null,
    next_page: nextPage,
  };
}

/** The sums of the bucket that begins then, in their order. */
export function byBucket(sums: readonly UsageSum[]): (start: number) => UsageSum[] {
  const buckets = new Map<number, UsageSum[]>();
  for (const sum of sums) {
    const there = buckets.get(sum.bucket);
    if (there === undefined) buckets.set(sum.bucket, [sum]);
    else there.push(sum);
  }
  return (start) => buckets.get(start) ?? [];
}

function usageResult(sum: UsageSum): UsageResult {
  return {
    object: "organization.usage.completions.result",
    input_tokens: sum.inputTokens,
    input_cached_tokens: sum.cachedTokens,
    input_cache_write_tokens: 0,
    input_uncached_tokens: sum.inputTokens - sum.cachedTokens,
    output_tokens: sum.outputTokens,
    input_text_tokens: sum.inputTokens - sum.cachedTokens,
    output_text_tokens: sum.outputTokens,
    input_cached_text_tokens: sum.cachedTokens,
    input_audio_tokens: 0,
    input_cached_audio_tokens: 0,
    output_audio_tokens: 0,
    input_image_tokens: 0,
    input_cached_image_tokens: 0,
    output_image_tokens: 0,
    num_model_requests: sum.requests,
    project_id: sum.owner,
    user_id: null,
    api_key_id: sum.keyId,
    model: sum.model,
    batch: sum.batch === null ? null : sum.batch === 1,
    service_tier: sum.tier,
    nightshift: {
      endpoint: sum.endpoint,
      reasoning_tokens: sum.reasoningTokens,
      cost_nano_usd: sum.costNano,
      default_cost_nano_usd: sum.defaultCostNano,
    },
  };
}

function embeddingsResult(sum: UsageSum): EmbeddingsUsageResult {
  return {
    object: "organization.usage.embeddings.result",
    input_tokens: sum.inputTokens,
    num_model_requests: sum.requests,
    project_id: sum.owner,
    user_id: null,
    api_key_id: sum.keyId,
    model: sum.model,
    nightshift: {
      endpoint: sum.endpoint,
      service_tier: sum.tier,
      cost_nano_usd: sum.costNano,
      default_cost_nano_usd: sum.defaultCostNano,
    },
  };
}
