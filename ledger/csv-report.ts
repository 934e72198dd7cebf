import type {
  CostsPage,
  CostsResult,
  EmbeddingsUsagePage,
  EmbeddingsUsageResult,
  UsagePage,
  UsageResult,
} from "../openapi/resources/organization-usage.ts";
import { type Column, csvText } from "./csv.ts";
import { usdText } from "./prices.ts";

/** A result with the time of its bucket. */
type Timed<Result> = Result & { start: number; end: number };
type Columns<Result> = readonly Column<Timed<Result>>[];

const time: Columns<object> = [
  ["start_time", ({ start }) => start],
  ["end_time", ({ end }) => end],
  ["start", ({ start }) => new Date(start * 1000).toISOString()],
];

const payer: Columns<Pick<UsageResult, "project_id" | "api_key_id">> = [
  ["project_id", (row) => row.project_id],
  ["api_key_id", (row) => row.api_key_id],
];

type Cost = Pick<UsageResult["nightshift"], "cost_nano_usd" | "default_cost_nano_usd">;

const cost: Columns<{ nightshift: Cost }> = [
  ["cost_usd", (row) => usdText(row.nightshift.cost_nano_usd)],
  ["default_cost_usd", (row) => usdText(row.nightshift.default_cost_nano_usd)],
];

const origin: Columns<{ nightshift: Pick<UsageResult["nightshift"], "upstream" | "system_fingerprint"> }> = [
  ["upstream", (row) => row.nightshift.upstream],
  ["system_fingerprint", (row) => row.nightshift.system_fingerprint],
];

const USAGE: Columns<UsageResult> = [
  ...time,
  ...payer,
  ["model", (row) => row.model],
  ["endpoint", (row) => row.nightshift.endpoint],
  ["service_tier", (row) => row.service_tier],
  ["batch", (row) => row.batch],
  ["num_model_requests", (row) => row.num_model_requests],
  ["input_tokens", (row) => row.input_tokens],
  ["input_cached_tokens", (row) => row.input_cached_tokens],
  ["output_tokens", (row) => row.output_tokens],
  ["reasoning_tokens", (row) => row.nightshift.reasoning_tokens],
  ...cost,
  ["estimated_requests", (row) => row.nightshift.estimated_requests],
  ["estimated_input_tokens", (row) => row.nightshift.estimated_input_tokens],
  ["estimated_output_tokens", (row) => row.nightshift.estimated_output_tokens],
  ...origin,
];

const EMBEDDINGS: Columns<EmbeddingsUsageResult> = [
  ...time,
  ...payer,
  ["model", (row) => row.model],
  ["endpoint", (row) => row.nightshift.endpoint],
  ["service_tier", (row) => row.nightshift.service_tier],
  ["num_model_requests", (row) => row.num_model_requests],
  ["input_tokens", (row) => row.input_tokens],
  ...cost,
  ["estimated_requests", (row) => row.nightshift.estimated_requests],
  ["estimated_input_tokens", (row) => row.nightshift.estimated_input_tokens],
  ...origin,
];

const COSTS: Columns<CostsResult> = [
  ...time,
  ...payer,
  ["line_item", (row) => row.line_item],
  ["model", (row) => row.nightshift.model],
  ["endpoint", (row) => row.nightshift.endpoint],
  ["service_tier", (row) => row.nightshift.service_tier],
  ["tokens", (row) => row.nightshift.tokens],
  ...cost,
  ["machine_seconds", (row) => row.nightshift.machine?.seconds ?? null],
  ["machine_usd", (row) => row.nightshift.machine?.usd ?? null],
  ["machine_spot_usd", (row) => row.nightshift.machine?.spot_usd ?? null],
  ["estimated_tokens", (row) => row.nightshift.estimated_tokens],
  ["estimated_cost_usd", (row) => usdText(row.nightshift.estimated_cost_nano_usd)],
  ...origin,
];

export function usageCsv(page: UsagePage): string {
  return csvText(USAGE, timed(page.data));
}

export function embeddingsCsv(page: EmbeddingsUsagePage): string {
  return csvText(EMBEDDINGS, timed(page.data));
}

export function costsCsv(page: CostsPage): string {
  return csvText(COSTS, timed(page.data));
}

/** The results of all buckets; an empty bucket has no line. */
function timed<Result>(data: readonly { start_time: number; end_time: number; results: Result[] }[]): Timed<Result>[] {
  return data.flatMap(({ start_time, end_time, results }) =>
    results.map((result) => ({ ...result, start: start_time, end: end_time })),
  );
}
