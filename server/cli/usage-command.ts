import { usdText } from "../../ledger/prices.ts";
import { type UsagePage, type UsageResult, usagePage } from "../../openapi/organization-usage.ts";
import { OptionsError } from "../options/options-error.ts";
import { ApiClient } from "./api-client.ts";
import { columns } from "./columns.ts";

export interface UsageFlags {
  /** Where a server's endpoints begin, such as http://127.0.0.1:8080/v1. */
  url?: string;
  /** As typed: how far back, in days. */
  days: string;
  json?: boolean;
}

/** What one endpoint, model and tier used and cost, over the whole time asked for. */
export interface UsageLine {
  endpoint: string;
  model: string;
  tier: string;
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  costNano: number;
  /** What the same tokens had cost at tier default. */
  defaultCostNano: number;
}

const DAY = 86_400;
const MAX_DAYS = 3660;

/** Prints spend per endpoint, model and tier, and what the batch discount saved. Throws OptionsError. */
export async function usageCommand(flags: UsageFlags): Promise<void> {
  const lines = await fetchUsage(new ApiClient(flags.url, process.env), startOf(flags.days, Date.now()));
  process.stdout.write(flags.json ? `${JSON.stringify(lines, null, 2)}\n` : usageText(lines, flags.days));
}

function startOf(days: string, nowMs: number): number {
  const count = /^\d{1,4}$/.test(days) ? Number(days) : 0;
  if (count < 1 || count > MAX_DAYS) {
    throw new OptionsError(`--days must be a whole number from 1 to ${MAX_DAYS}; it is ${JSON.stringify(days)}.`);
  }
  return Math.max(0, Math.floor(nowMs / 1000) - count * DAY);
}

/** `start`: Unix seconds. */
export async function fetchUsage(client: ApiClient, start: number): Promise<UsageLine[]> {
  const lines = new Map<string, UsageLine>();
  let page: string | null = null;
  do {
    const query = new URLSearchParams({ start_time: String(start), bucket_width: "1d", limit: "31" });
    for (const dimension of ["endpoint", "model", "service_tier"]) query.append("group_by", dimension);
    if (page !== null) query.set("page", page);
    const answer: UsagePage = await client.call("GET", `organization/usage/completions?${query}`, usagePage);
    for (const { results } of answer.data) for (const result of results) add(lines, result);
    page = answer.next_page;
  } while (page !== null);
  return [...lines.values()].sort((a, b) => b.costNano - a.costNano || b.requests - a.requests);
}

function add(lines: Map<string, UsageLine>, result: UsageResult): void {
  const { endpoint, cost_nano_usd, default_cost_nano_usd } = result.nightshift;
  const names = { endpoint: endpoint ?? "", model: result.model ?? "", tier: result.service_tier ?? "" };
  const key = JSON.stringify(names);
  const none = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costNano: 0, defaultCostNano: 0 };
  const line = lines.get(key) ?? { ...names, ...none };
  line.requests += result.num_model_requests;
  line.inputTokens += result.input_tokens;
  line.cachedTokens += result.input_cached_tokens;
  line.outputTokens += result.output_tokens;
  line.costNano += cost_nano_usd;
  line.defaultCostNano += default_cost_nano_usd;
  lines.set(key, line);
}

const HEAD = ["endpoint", "model", "tier", "requests", "input", "cached", "output", "USD"];
const LEFT_ALIGNED = 3;

/** A table, its total, and the saving. */
export function usageText(lines: readonly UsageLine[], days: string): string {
  if (lines.length === 0) return `Nothing was used in the last ${days} days.\n`;
  const total = (count: (line: UsageLine) => number) => lines.reduce((sum, line) => sum + count(line), 0);
  const rows = lines.map((line) => [
    line.endpoint,
    line.model,
    line.tier,
    ...[line.requests, line.inputTokens, line.cachedTokens, line.outputTokens].map(grouped),
    usdText(line.costNano),
  ]);
  const sums = [
    "total",
    "",
    "",
    grouped(total((line) => line.requests)),
    grouped(total((line) => line.inputTokens)),
    grouped(total((line) => line.cachedTokens)),
    grouped(total((line) => line.outputTokens)),
    usdText(total((line) => line.costNano)),
  ];
  const saved = total(({ tier, costNano, defaultCostNano }) => (tier === "batch" ? defaultCostNano - costNano : 0));
  const table = columns([HEAD, ...rows, sums], LEFT_ALIGNED);
  return `${table.join("\n")}\n\nThe batch discount saved USD ${usdText(saved)} in the last ${days} days.\n`;
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
