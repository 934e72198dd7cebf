import type { Database } from "better-sqlite3";
import type { LedgerTier } from "./ledger.ts";

/** Dimensions of sums; an absent one is not grouped by. */
export type UsageGroups = Partial<
  Record<"owner" | "keyId" | "endpoint" | "model" | "upstream" | "version" | "batch" | "tier", boolean>
>;

/** Rows to sum, and the dimensions to group by. A dimension that is not grouped by is null in the sums. */
export interface UsageQuery {
  /** Unix seconds: start inclusive, end exclusive. */
  start: number;
  end: number;
  /** Bucket width in seconds; buckets begin at multiples of it since 1970 (UTC days). */
  width: number;
  /** "embeddings": requests for vectors and ranks; "completions": requests that generate; null for both. */
  kind: "completions" | "embeddings" | null;
  /** Null for all. */
  owners: string[] | null;
  keyIds: string[] | null;
  models: string[] | null;
  batch: boolean | null;
  groupBy: UsageGroups;
  /** Most sums returned. */
  limit: number;
}

export interface UsageSum {
  /** Start of the bucket. */
  bucket: number;
  owner: string | null;
  keyId: string | null;
  endpoint: string | null;
  model: string | null;
  /** Null for models of this server too. */
  upstream: string | null;
  /** Null for the sums of hours before versions were summed, too. */
  version: string | null;
  batch: 0 | 1 | null;
  tier: LedgerTier | null;
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Of requests whose tokens an upstream has not counted; parts of the counts beside them. */
  estimatedRequests: number;
  estimatedInputTokens: number;
  estimatedOutputTokens: number;
  estimatedCostNano: number;
  costNano: number;
  defaultCostNano: number;
}

/** Summed ranges: whole hours from their sums, partial hours at either end from ledger rows. */
interface Ranges {
  start: number;
  hoursFrom: number;
  hoursTo: number;
  end: number;
}

const HOUR = 3600;

const COUNTS = "input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_nano, default_cost_nano";

/** The version of an upstream's model is `fp_NAME_` and 12 digits, that of a local one `fp_` and 12 digits. */
const UPSTREAM = "iif(length(version) > 16, substr(version, 4, length(version) - 16), NULL)";

const FILTERS = `(@embeddings IS NULL OR (endpoint IN ('/v1/embeddings', '/v1/rerank', '/api/embed', '/api/embeddings')) = @embeddings)
  AND (@keyIds IS NULL OR key_id IN (SELECT value FROM json_each(@keyIds)))
  AND (@models IS NULL OR model IN (SELECT value FROM json_each(@models)))
  AND (@batch IS NULL OR batch = @batch)`;

/** Rows of the three ranges that match `whose`, in one form. */
function rowsOf(whose: string): string {
  const ledger = (from: string, to: string) =>
    `SELECT time, owner, key_id, endpoint, model, version, tier, batch_id IS NOT NULL AS batch, estimated, 1 AS requests, ${COUNTS}
     FROM ledger WHERE ${whose} AND time >= ${from} AND time < ${to}`;
  return `SELECT hour AS time, owner, nullif(key_id, '') AS key_id, endpoint, model, nullif(version, '') AS version, tier, batch,
       estimated, requests, ${COUNTS}
     FROM usage_hours WHERE ${whose} AND hour >= @hoursFrom AND hour < @hoursTo
     UNION ALL ${ledger("@start", "@hoursFrom")} UNION ALL ${ledger("@hoursTo", "@end")}`;
}

/** Sums over the ledger, computed in SQL. */
export function usage(db: Database) {
  const sumsOf = (whose: string) =>
    db.prepare<Record<string, string | number | null>, UsageSum>(
      `SELECT time - time % @width AS bucket,
         iif(@byOwner, owner, NULL) AS owner, iif(@byKeyId, key_id, NULL) AS keyId,
         iif(@byEndpoint, endpoint, NULL) AS endpoint, iif(@byModel, model, NULL) AS model,
         iif(@byUpstream, ${UPSTREAM}, NULL) AS upstream, iif(@byVersion, version, NULL) AS version,
         iif(@byBatch, batch, NULL) AS batch, iif(@byTier, tier, NULL) AS tier,
         sum(requests) AS requests, sum(input_tokens) AS inputTokens, sum(cached_tokens) AS cachedTokens,
         sum(output_tokens) AS outputTokens, sum(reasoning_tokens) AS reasoningTokens,
         sum(requests * estimated) AS estimatedRequests, sum(input_tokens * estimated) AS estimatedInputTokens,
         sum(output_tokens * estimated) AS estimatedOutputTokens, sum(cost_nano * estimated) AS estimatedCostNano,
         sum(cost_nano) AS costNano, sum(default_cost_nano) AS defaultCostNano
       FROM (${rowsOf(whose)}) WHERE ${FILTERS}
       GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9 LIMIT @limit`,
    );
  const sumsOfAll = sumsOf("TRUE");
  const sumsOfOwners = sumsOf("owner IN (SELECT value FROM json_each(@owners))");

  return {
    reads: {},
    writes: {},
    rebuilds: {},
    reports: {
      /** Sorted by bucket; empty buckets are left out. */
      sums({ groupBy, ...query }: UsageQuery): UsageSum[] {
        const { owners, width, limit } = query;
        const bounds = {
          ...rangesOf(query),
          width,
          limit,
          embeddings: query.kind === null ? null : Number(query.kind === "embeddings"),
          keyIds: listed(query.keyIds),
          models: listed(query.models),
          batch: query.batch === null ? null : Number(query.batch),
          byOwner: by(groupBy.owner),
          byKeyId: by(groupBy.keyId),
          byEndpoint: by(groupBy.endpoint),
          byModel: by(groupBy.model),
          byUpstream: by(groupBy.upstream),
          byVersion: by(groupBy.version),
          byBatch: by(groupBy.batch),
          byTier: by(groupBy.tier),
        };
        return owners === null ? sumsOfAll.all(bounds) : sumsOfOwners.all({ ...bounds, owners: listed(owners) });
      },
    },
  };
}

/** Buckets shorter than an hour and partial hours are summed from rows alone. */
function rangesOf({ start, end, width }: Pick<UsageQuery, "start" | "end" | "width">): Ranges {
  const hoursFrom = Math.ceil(start / HOUR) * HOUR;
  const hoursTo = Math.floor(end / HOUR) * HOUR;
  if (width % HOUR !== 0 || hoursFrom >= hoursTo) return { start, hoursFrom: end, hoursTo: end, end };
  return { start, hoursFrom, hoursTo, end };
}

function by(asked = false): number {
  return Number(asked);
}

function listed(values: string[] | null): string | null {
  return values === null ? null : JSON.stringify(values);
}
