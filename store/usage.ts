import type { Database } from "better-sqlite3";
import type { LedgerTier } from "./ledger.ts";

/** Which rows to add up, and how to tell the sums apart. A dimension that is not grouped by is null in the sums. */
export interface UsageQuery {
  /** Unix seconds: from, inclusive, to, exclusive. */
  start: number;
  end: number;
  /** Seconds; buckets begin at whole multiples of it since 1970 (UTC days). */
  width: number;
  /** Of which requests: those that generate, or those that read for a vector or a score alone; null for both. */
  kind: "completions" | "embeddings" | null;
  /** Null for all. */
  owners: string[] | null;
  keyIds: string[] | null;
  models: string[] | null;
  batch: boolean | null;
  groupBy: { owner: boolean; keyId: boolean; endpoint: boolean; model: boolean; batch: boolean; tier: boolean };
}

export interface UsageSum {
  /** Start of the bucket. */
  bucket: number;
  owner: string | null;
  keyId: string | null;
  endpoint: string | null;
  model: string | null;
  batch: 0 | 1 | null;
  tier: LedgerTier | null;
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  costNano: number;
  defaultCostNano: number;
}

const FILTERS = `time >= @start AND time < @end
  AND (@embeddings IS NULL OR (endpoint IN ('/v1/embeddings', '/v1/rerank')) = @embeddings)
  AND (@owners IS NULL OR owner IN (SELECT value FROM json_each(@owners)))
  AND (@keyIds IS NULL OR key_id IN (SELECT value FROM json_each(@keyIds)))
  AND (@models IS NULL OR model IN (SELECT value FROM json_each(@models)))
  AND (@batch IS NULL OR (batch_id IS NOT NULL) = @batch)`;

/** Sums over the ledger, all of them worked out by SQL. */
export function usage(db: Database) {
  const sums = db.prepare<Record<string, string | number | null>, UsageSum>(
    `SELECT time - time % @width AS bucket,
       iif(@byOwner, owner, NULL) AS owner, iif(@byKeyId, key_id, NULL) AS keyId,
       iif(@byEndpoint, endpoint, NULL) AS endpoint, iif(@byModel, model, NULL) AS model,
       iif(@byBatch, batch_id IS NOT NULL, NULL) AS batch, iif(@byTier, tier, NULL) AS tier,
       count(*) AS requests, sum(input_tokens) AS inputTokens, sum(cached_tokens) AS cachedTokens,
       sum(output_tokens) AS outputTokens, sum(reasoning_tokens) AS reasoningTokens,
       sum(cost_nano) AS costNano, sum(default_cost_nano) AS defaultCostNano
     FROM ledger WHERE ${FILTERS} GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`,
  );

  return {
    reads: {
      /** Sorted by bucket; a bucket without rows is not there. */
      sums({ groupBy, ...query }: UsageQuery): UsageSum[] {
        return sums.all({
          start: query.start,
          end: query.end,
          width: query.width,
          embeddings: query.kind === null ? null : Number(query.kind === "embeddings"),
          owners: listed(query.owners),
          keyIds: listed(query.keyIds),
          models: listed(query.models),
          batch: query.batch === null ? null : Number(query.batch),
          byOwner: Number(groupBy.owner),
          byKeyId: Number(groupBy.keyId),
          byEndpoint: Number(groupBy.endpoint),
          byModel: Number(groupBy.model),
          byBatch: Number(groupBy.batch),
          byTier: Number(groupBy.tier),
        });
      },
    },
    writes: {},
    rebuilds: {},
  };
}

function listed(values: string[] | null): string | null {
  return values === null ? null : JSON.stringify(values);
}
