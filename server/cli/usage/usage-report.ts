import type { z } from "zod";
import {
  type CostsBucket,
  costsPage,
  type EmbeddingsUsageResult,
  embeddingsUsagePage,
  type MachineResult,
  type UsageResult,
  usagePage,
} from "../../../openapi/resources/organization-usage.ts";
import type { ApiClient } from "../client/api-client.ts";

/** Dimensions that usage can be grouped by. */
export const DIMENSIONS = ["key", "owner", "model", "endpoint", "tier", "upstream"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

const GROUP_BY: Record<Dimension, string> = {
  key: "api_key_id",
  owner: "project_id",
  model: "model",
  endpoint: "endpoint",
  tier: "service_tier",
  upstream: "upstream",
};
/** Dimensions that the machine's time is recorded by. */
const MACHINE_DIMENSIONS: readonly Dimension[] = ["endpoint", "model", "tier"];
/** Maximum buckets of a page, for every bucket width. */
const PAGE_BUCKETS = "31";

export interface MachineCost {
  seconds: number;
  /** Null if the server has no price. */
  usd: number | null;
  spotUsd: number | null;
}

/** The sum of all requests that are equal in the requested dimensions. */
export interface UsageRow {
  /** Values of the requested dimensions; null for requests without an API key, and for the upstream of models of the server. */
  names: Partial<Record<Dimension, string | null>>;
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** The parts of `requests` and of all tokens that an upstream has not counted. */
  estimatedRequests: number;
  estimatedTokens: number;
  /** Cost at list prices and cost at tier default, in billionths of a USD. */
  costNano: number;
  defaultCostNano: number;
  /** Null if the machine's time is not recorded by these dimensions. */
  machine: MachineCost | null;
}

/** One day or hour. */
export interface UsageSpan {
  /** Unix seconds. */
  start: number;
  costNano: number;
  /** Null if this API key may not see it. */
  machine: (MachineCost & { online: number; flex: number; batch: number; idle: number }) | null;
}

export interface UsageReport {
  /** Unix seconds. */
  start: number;
  by: Dimension[];
  /** Highest cost first. */
  rows: UsageRow[];
  spans: UsageSpan[];
  /** Amount that tier batch was cheaper than tier default, in billionths of a USD. */
  batchSavedNano: number;
}

export interface UsageQuery {
  /** Unix seconds; the start of an hour, because the machine's time is recorded by hour. */
  start: number;
  width: "1h" | "1d";
  by: Dimension[];
}

type Caller = Pick<ApiClient, "call">;
type Names = Record<Dimension, string | null>;
type Counts = Omit<UsageRow, "names" | "machine">;

const NONE: Counts = {
  requests: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  estimatedRequests: 0,
  estimatedTokens: 0,
  costNano: 0,
  defaultCostNano: 0,
};

/** Sums all pages of the server's reports. Throws ApiFailure. */
export async function fetchUsage(client: Caller, { start, width, by }: UsageQuery): Promise<UsageReport> {
  const rows = new Rows(by);
  let batchSavedNano = 0;
  const add = (names: Names, counts: Counts) => {
    rows.add(names, counts);
    if (names.tier === "batch") batchSavedNano += counts.defaultCostNano - counts.costNano;
  };
  const range = { start_time: String(start), bucket_width: width };
  const all = [...new Set([...MACHINE_DIMENSIONS, ...by])];
  for await (const { results } of buckets(client, "usage/completions", usagePage, range, all))
    for (const result of results) add(namesOf(result, result.service_tier), generated(result));
  for await (const { results } of buckets(client, "usage/embeddings", embeddingsUsagePage, range, all))
    for (const result of results) add(namesOf(result, result.nightshift.service_tier), read(result));

  const spans: UsageSpan[] = [];
  const ownTime = by.every((dimension) => MACHINE_DIMENSIONS.includes(dimension));
  for await (const bucket of buckets(client, "costs", costsPage, range, MACHINE_DIMENSIONS)) {
    spans.push(spanOf(bucket));
    if (!ownTime) continue;
    for (const { nightshift } of bucket.results) {
      const { endpoint, model, service_tier: tier, machine } = nightshift;
      if (machine !== null)
        rows.spend({ key: null, owner: null, endpoint, model, tier, upstream: null }, costOf(machine));
    }
  }
  return { start, by, rows: rows.sorted, spans, batchSavedNano };
}

/** The buckets of all pages. */
async function* buckets<Bucket>(
  client: Caller,
  path: string,
  schema: z.ZodType<{ data: Bucket[]; next_page: string | null }>,
  range: Record<string, string>,
  by: readonly Dimension[],
): AsyncGenerator<Bucket> {
  let page: string | null = null;
  do {
    const query = new URLSearchParams({ ...range, limit: PAGE_BUCKETS });
    for (const dimension of by) query.append("group_by", GROUP_BY[dimension]);
    if (page !== null) query.set("page", page);
    const answer: { data: Bucket[]; next_page: string | null } = await client.call(
      "GET",
      `organization/${path}?${query}`,
      schema,
    );
    yield* answer.data;
    page = answer.next_page;
  } while (page !== null);
}

function namesOf(result: UsageResult | EmbeddingsUsageResult, tier: string | null): Names {
  const { api_key_id: key, project_id: owner, model, nightshift } = result;
  return { key, owner, model, endpoint: nightshift.endpoint, tier, upstream: nightshift.upstream };
}

function generated({ nightshift, ...result }: UsageResult): Counts {
  return {
    requests: result.num_model_requests,
    inputTokens: result.input_tokens,
    cachedTokens: result.input_cached_tokens,
    outputTokens: result.output_tokens,
    estimatedRequests: nightshift.estimated_requests,
    estimatedTokens: nightshift.estimated_input_tokens + nightshift.estimated_output_tokens,
    costNano: nightshift.cost_nano_usd,
    defaultCostNano: nightshift.default_cost_nano_usd,
  };
}

function read({ nightshift, ...result }: EmbeddingsUsageResult): Counts {
  return {
    requests: result.num_model_requests,
    inputTokens: result.input_tokens,
    cachedTokens: 0,
    outputTokens: 0,
    estimatedRequests: nightshift.estimated_requests,
    estimatedTokens: nightshift.estimated_input_tokens,
    costNano: nightshift.cost_nano_usd,
    defaultCostNano: nightshift.default_cost_nano_usd,
  };
}

function spanOf({ start_time: start, results, nightshift }: CostsBucket): UsageSpan {
  const { machine } = nightshift;
  return {
    start,
    costNano: results.reduce((sum, result) => sum + result.nightshift.cost_nano_usd, 0),
    machine:
      machine === null
        ? null
        : { ...machine.seconds, seconds: machine.up_seconds, usd: machine.usd, spotUsd: machine.spot_usd },
  };
}

function costOf({ seconds, usd, spot_usd: spotUsd }: MachineResult): MachineCost {
  return { seconds, usd, spotUsd };
}

/** Sums by the requested dimensions. */
class Rows {
  readonly #by: readonly Dimension[];
  readonly #rows = new Map<string, UsageRow>();

  constructor(by: readonly Dimension[]) {
    this.#by = by;
  }

  get sorted(): UsageRow[] {
    const taken = ({ machine }: UsageRow) => machine?.seconds ?? 0;
    return [...this.#rows.values()].sort(
      (a, b) => b.costNano - a.costNano || b.requests - a.requests || taken(b) - taken(a),
    );
  }

  add(names: Names, counts: Counts): void {
    const row = this.#of(names);
    row.requests += counts.requests;
    row.inputTokens += counts.inputTokens;
    row.cachedTokens += counts.cachedTokens;
    row.outputTokens += counts.outputTokens;
    row.estimatedRequests += counts.estimatedRequests;
    row.estimatedTokens += counts.estimatedTokens;
    row.costNano += counts.costNano;
    row.defaultCostNano += counts.defaultCostNano;
  }

  spend(names: Names, cost: MachineCost): void {
    const row = this.#of(names);
    row.machine = row.machine === null ? cost : bothOf(row.machine, cost);
  }

  #of(names: Names): UsageRow {
    const own = Object.fromEntries(this.#by.map((dimension) => [dimension, names[dimension]]));
    const key = JSON.stringify(own);
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { names: own, ...NONE, machine: null };
      this.#rows.set(key, row);
    }
    return row;
  }
}

/** The sum of two costs; money is null if either is null. */
export function bothOf(a: MachineCost, b: MachineCost): MachineCost {
  const sum = (x: number | null, y: number | null) => (x === null || y === null ? null : x + y);
  return { seconds: a.seconds + b.seconds, usd: sum(a.usd, b.usd), spotUsd: sum(a.spotUsd, b.spotUsd) };
}
