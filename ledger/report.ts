import type {
  CostsPage,
  CostsResult,
  EmbeddingsUsagePage,
  EmbeddingsUsageResult,
  UsagePage,
  UsageResult,
} from "../openapi/organization-usage.ts";
import type { UsageSum } from "../store/usage.ts";
import type { BucketPage } from "./buckets.ts";

/** Sums of the ledger as OpenAI's usage page. */
export function usagePageOf(page: BucketPage, sums: readonly UsageSum[]): UsagePage {
  return pageOf(page, sums, usageResult);
}

/** Sums over what was read for vectors and scores. */
export function embeddingsPageOf(page: BucketPage, sums: readonly UsageSum[]): EmbeddingsUsagePage {
  return pageOf(page, sums, embeddingsResult);
}

/** Sums of the ledger, grouped by model and tier when `byItem`, as OpenAI's costs page. */
export function costsPageOf(page: BucketPage, sums: readonly UsageSum[], byItem: boolean): CostsPage {
  return pageOf(page, sums, (sum) => costsResult(sum, byItem));
}

function pageOf<Result>(
  { buckets, width, nextPage }: BucketPage,
  sums: readonly UsageSum[],
  resultOf: (sum: UsageSum) => Result,
) {
  const byBucket = new Map<number, Result[]>(buckets.map((start) => [start, []]));
  for (const sum of sums) byBucket.get(sum.bucket)?.push(resultOf(sum));
  return {
    object: "page" as const,
    data: [...byBucket].map(([start, results]) => ({
      object: "bucket" as const,
      start_time: start,
      end_time: start + width,
      results,
    })),
    has_more: nextPage !== null,
    next_page: nextPage,
  };
}

function usageResult(sum: UsageSum): UsageResult {
  return {
    object: "organization.usage.completions.result",
    input_tokens: sum.inputTokens,
    input_cached_tokens: sum.cachedTokens,
    input_uncached_tokens: sum.inputTokens - sum.cachedTokens,
    output_tokens: sum.outputTokens,
    input_audio_tokens: 0,
    output_audio_tokens: 0,
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

function costsResult(sum: UsageSum, byItem: boolean): CostsResult {
  return {
    object: "organization.costs.result",
    amount: { value: sum.costNano / 1e9, currency: "usd" },
    line_item: byItem ? `${sum.model}, ${sum.tier}` : null,
    project_id: sum.owner,
    api_key_id: sum.keyId,
    quantity: byItem ? sum.inputTokens + sum.outputTokens : null,
    quantity_unit: byItem ? "tokens" : null,
  };
}
