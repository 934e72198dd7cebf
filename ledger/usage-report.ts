import type {
  EmbeddingsUsagePage,
  EmbeddingsUsageResult,
  UsagePage,
  UsageResult,
} from "../openapi/resources/organization-usage.ts";
import type { UsageSum } from "../store/tables/usage.ts";
import { type BucketPage, byBucket, pageOf } from "./report-buckets.ts";

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
      upstream: sum.upstream,
      system_fingerprint: sum.version,
      reasoning_tokens: sum.reasoningTokens,
      estimated_requests: sum.estimatedRequests,
      estimated_input_tokens: sum.estimatedInputTokens,
      estimated_output_tokens: sum.estimatedOutputTokens,
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
      upstream: sum.upstream,
      system_fingerprint: sum.version,
      service_tier: sum.tier,
      estimated_requests: sum.estimatedRequests,
      estimated_input_tokens: sum.estimatedInputTokens,
      cost_nano_usd: sum.costNano,
      default_cost_nano_usd: sum.defaultCostNano,
    },
  };
}
