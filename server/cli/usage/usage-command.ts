import { OptionsError } from "../../../platform/options-error.ts";
import { ApiClient } from "../client/api-client.ts";
import { DIMENSIONS, type Dimension, fetchUsage, type UsageQuery } from "./usage-report.ts";
import { usageTable, usageText } from "./usage-text.ts";

export interface UsageFlags {
  /** Base URL of the server, such as http://127.0.0.1:8080/v1. */
  url?: string;
  /** The dimensions as typed, separated by commas. */
  by: string;
  /** The period as typed: 24h, 7d or 4w. */
  since: string;
  csv?: boolean;
  json?: boolean;
}

const HOUR = 3600;
const UNITS: Record<string, number> = { h: HOUR, d: 24 * HOUR, w: 7 * 24 * HOUR };
const MOST_SECONDS = 3660 * 24 * HOUR;
/** Longest period whose chart has a bar per hour. */
const HOURLY_SECONDS = 48 * HOUR;
/** Width of output that is not a terminal, in characters. */
const PIPE_WIDTH = 160;

/** Prints usage and its cost at list prices and by machine time. Throws OptionsError. */
export async function usageCommand(flags: UsageFlags): Promise<void> {
  if (flags.csv && flags.json) throw new OptionsError("--csv and --json exclude each other.");
  const { stdout } = process;
  const asked = readUsageFlags(flags, Date.now());
  const report = await fetchUsage(new ApiClient(flags.url, process.env), asked);
  if (flags.json) stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else if (flags.csv) stdout.write(usageTable(report));
  else stdout.write(usageText(report, flags.since, stdout.isTTY ? stdout.columns : PIPE_WIDTH));
}

/** Throws OptionsError for an invalid period or dimension. */
export function readUsageFlags({ by, since }: Pick<UsageFlags, "by" | "since">, nowMs: number): UsageQuery {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(since) ?? [];
  const seconds = Number(count ?? 0) * (UNITS[unit ?? ""] ?? 0);
  if (seconds < HOUR || seconds > MOST_SECONDS) {
    throw new OptionsError(`--since must be like 24h, 7d or 4w, at most ten years; it is ${JSON.stringify(since)}.`);
  }
  const start = Math.max(0, Math.floor(nowMs / 1000) - seconds);
  return { start: start - (start % HOUR), width: seconds <= HOURLY_SECONDS ? "1h" : "1d", by: dimensionsOf(by) };
}

function dimensionsOf(by: string): Dimension[] {
  const names = by.split(",").map((name) => name.trim());
  const dimensions = DIMENSIONS.filter((dimension) => names.includes(dimension));
  if (dimensions.length !== names.length) {
    throw new OptionsError(`--by takes some of ${DIMENSIONS.join(", ")}, each once; it is ${JSON.stringify(by)}.`);
  }
  return names.flatMap((name) => dimensions.filter((dimension) => dimension === name));
}
