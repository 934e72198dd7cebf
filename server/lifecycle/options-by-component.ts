import { shiftRules } from "../../batch/shift/shift-rules.ts";
import {
  DEFAULT_PRICES,
  DEFAULT_TIER_FACTORS,
  type MachinePrice,
  type ModelPrice,
  type TierFactors,
} from "../../ledger/prices.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../openapi/request-limits.ts";
import { type AppOptions, DEFAULT_APP_OPTIONS } from "../options/app-options.ts";
import type { LiveOptions } from "../options/live.ts";
import { keysAreOn } from "../options/rules.ts";
import type { Options } from "../options/table.ts";
import { BATCH_TIMES, type BatchOptions } from "./build-batch.ts";

// What the options mean to the parts of a server, each in its own terms.

/** The arguments of Prices. */
export function pricing({
  prices,
  tierFactors,
}: Pick<LiveOptions, "prices" | "tierFactors">): [Record<string, ModelPrice>, TierFactors] {
  return [
    { ...DEFAULT_PRICES, ...prices },
    { ...DEFAULT_TIER_FACTORS, ...tierFactors },
  ];
}

/** The part of AppOptions that may change. */
export function waitBounds({ queueLimit, maxWaitMs, queueTimeoutMs, flexWaitMs }: LiveOptions) {
  return {
    queueLimit,
    maxWaitMs: maxWaitMs === "off" ? null : maxWaitMs,
    queueTimeoutMs: queueTimeoutMs === "off" ? null : queueTimeoutMs,
    flexWaitMs: flexWaitMs === "off" ? null : flexWaitMs,
  };
}

export function nightOptions(options: Options): BatchOptions {
  return {
    rules: shiftRules(options.shift, Intl.DateTimeFormat().resolvedOptions().timeZone),
    limits: { ...DEFAULT_REQUEST_LIMITS, choices: options.maxN },
    maxLineBytes: options.maxBody,
    lineTimeoutMs: options.batchLineTimeout * 1000,
    windowSeconds: options.batchWindow,
    maxOpen: options.maxOpenBatches,
    ...BATCH_TIMES,
  };
}

export function appOptions(options: Options): AppOptions {
  return {
    ...DEFAULT_APP_OPTIONS,
    host: options.host,
    bodyLimit: options.maxBody,
    bodyMemory: Math.max(options.maxBody, options.bodyMemory),
    ...waitBounds(options),
    limits: { ...DEFAULT_REQUEST_LIMITS, choices: options.maxN },
    allowedHosts: options.allowedHost,
    corsOrigins: options.corsOrigin,
    metricsToken: options.metricsToken,
    apiKeys: keysAreOn(options),
    trustedProxies: options.trustedProxy,
    machinePrice: machinePrice(options),
  };
}

export function machinePrice({ machineUsdPerHour, machineSpotUsdPerHour }: Options): MachinePrice {
  return { onDemand: machineUsdPerHour, spot: machineSpotUsdPerHour };
}
