import { MAX_RETRY_AFTER } from "../../../platform/retry-after.ts";

/** A response's header by its name in lower case; null where there is none. */
export type HeaderOf = (name: string) => string | null;

/** The longest wait; a limit that holds for longer is met again once in that time. */
const MAX_WAIT_MS = MAX_RETRY_AFTER * 1000;

/** Limits that hosted APIs report one by one, with what is left of each and when it is full again. */
export const LIMITS = ["requests", "tokens", "input-tokens", "output-tokens"];

/** Numbers of `x-ratelimit-reset` from here on are times since 1970, in seconds and in milliseconds. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;

/**
 * Milliseconds, 0 to a minute, that an upstream asks to wait until the next request; null where it says nothing readable.
 *
 * | header | value |
 * |---|---|
 * | `retry-after-ms` | milliseconds |
 * | `retry-after` | seconds, also fractions, or an HTTP date |
 * | `x-ratelimit-reset-*` | `1s`, `6m0s`, `20ms`, `7.66s`, or seconds; of the limits with nothing left, else of all, the longest |
 * | `x-ratelimit-reset` | seconds, or a time since 1970 in seconds or milliseconds |
 *
 * @param nowMs Unix milliseconds
 */
export function requestedWaitMs(header: HeaderOf, nowMs: number): number | null {
  const wait =
    numberOf(header("retry-after-ms")) ??
    retryAfterMs(header("retry-after"), nowMs) ??
    limitWaitMs(header) ??
    resetMs(header("x-ratelimit-reset"), nowMs);
  return wait === null ? null : Math.min(MAX_WAIT_MS, Math.max(0, wait));
}

function retryAfterMs(value: string | null, nowMs: number): number | null {
  const seconds = numberOf(value);
  if (seconds !== null) return seconds * 1000;
  const date = value === null || !/[a-z]/i.test(value) ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? null : date - nowMs;
}

function limitWaitMs(header: HeaderOf): number | null {
  const limits = LIMITS.flatMap((limit) => {
    const waitMs = durationMs(header(`x-ratelimit-reset-${limit}`));
    return waitMs === null ? [] : [{ waitMs, used: numberOf(header(`x-ratelimit-remaining-${limit}`)) === 0 }];
  });
  const used = limits.filter((limit) => limit.used);
  const waits = (used.length > 0 ? used : limits).map((limit) => limit.waitMs);
  return waits.length === 0 ? null : Math.max(...waits);
}

function resetMs(value: string | null, nowMs: number): number | null {
  const reset = numberOf(value);
  if (reset === null) return durationMs(value);
  if (reset >= EPOCH_MS) return reset - nowMs;
  return reset >= EPOCH_SECONDS ? reset * 1000 - nowMs : reset * 1000;
}

/** A number that is finite and not negative. */
export function numberOf(value: string | null): number | null {
  return value !== null && /^\s*\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : null;
}

const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A duration as Go writes it, or plain seconds. */
export function durationMs(value: string | null): number | null {
  const seconds = numberOf(value);
  if (seconds !== null) return seconds * 1000;
  if (value === null || !/^\s*(\d{1,15}(\.\d{1,15})?(d|h|ms|m|s))+\s*$/.test(value)) return null;
  let total = 0;
  for (const [, number, unit] of value.matchAll(/([\d.]+)(d|h|ms|m|s)/g)) total += Number(number) * UNIT_MS[unit!]!;
  return total;
}
