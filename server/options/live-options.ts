import { isDeepStrictEqual } from "node:util";
import { OPTION_KEYS, type OptionKey, type Options } from "./table.ts";

/** Options that SIGHUP changes in a running server. All others need a restart. */
export const LIVE_OPTIONS = [
  "shutdownDelay",
  "shutdownGrace",
  "queueLimit",
  "maxWaitMs",
  "queueTimeoutMs",
  "flexWaitMs",
  "maxOpenBatches",
  "prices",
  "tierFactors",
  "shift",
  "batchWindow",
  "webhooks",
  "logLevel",
] as const satisfies readonly OptionKey[];

export type LiveOptions = Pick<Options, (typeof LIVE_OPTIONS)[number]>;

export interface OptionChanges {
  live: OptionKey[];
  /** Changed options that have no effect until the next start. */
  restart: OptionKey[];
}

export function isLive(key: OptionKey): boolean {
  return LIVE_OPTIONS.some((live) => live === key);
}

export function changesBetween(before: Options, after: Options): OptionChanges {
  const changed = OPTION_KEYS.filter((key) => !isDeepStrictEqual(before[key], after[key]));
  return { live: changed.filter(isLive), restart: changed.filter((key) => !isLive(key)) };
}
