import { regexes } from "zod/v4/core";
import { EMAIL, HOSTNAME, IPV4, IPV6, URI, ZOD_EMAIL } from "./network-formats.ts";

// Years from 0001 on: not every library has a year 0.
const YEAR = '([1-9] [0-9]{3} | "0" ([1-9] [0-9]{2} | "0" ([1-9] [0-9] | "0" [1-9])))';
const LEAP_YEAR = '([0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ("0" [48] | [2468] [048] | [13579] [26]) "00")';
const YEAR_MONTH_DAY =
  `${YEAR} "-" (("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ` +
  '("04" | "06" | "09" | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | ' +
  `${LEAP_YEAR} "-02-29"`;
const CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,18})?';
const ZONE = '([Zz] | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])';
const AMOUNT = "[0-9]{1,18}";
// RFC 3339, appendix A: a unit may be followed only by the next smaller one.
const TIME_AMOUNTS = `(${AMOUNT} "H" (${AMOUNT} "M" (${AMOUNT} "S")?)? | ${AMOUNT} "M" (${AMOUNT} "S")? | ${AMOUNT} "S")`;
const DATE_AMOUNTS = `(${AMOUNT} "Y" (${AMOUNT} "M" (${AMOUNT} "D")?)? | ${AMOUNT} "M" (${AMOUNT} "D")? | ${AMOUNT} "D")`;
const UPPER_ZONE = ZONE.replace("[Zz]", '"Z"');
const HEX = "[0-9A-Fa-f]";

/**
 * The text between the quotes, by format: all of its RFC (JSON Schema 2020-12, 7.3) on which validators agree, without leap
 * seconds. Characters that JSON escapes do not occur.
 */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ["date", YEAR_MONTH_DAY],
  ["time", `${CLOCK} ${ZONE}`],
  ["date-time", `(${YEAR_MONTH_DAY}) [Tt] ${CLOCK} ${ZONE}`],
  ["duration", `"P" (${DATE_AMOUNTS} ("T" ${TIME_AMOUNTS})? | "T" ${TIME_AMOUNTS} | ${AMOUNT} "W")`],
  ["email", EMAIL],
  ["hostname", HOSTNAME],
  ["ipv4", IPV4],
  ["ipv6", IPV6],
  ["uuid", `${HEX}{8} ("-" ${HEX}{4}){3} "-" ${HEX}{12}`],
  ["uri", URI],
]);

const VERSIONED_UUID = `${HEX}{8} "-" ${HEX}{4} "-" [1-8] ${HEX}{3} "-" [89abAB] ${HEX}{3} "-" ${HEX}{12}`;

/**
 * Patterns that zod writes beside a format, with the rule that satisfies both, or null for the rule of the format. They
 * need no conversion, and some have lookaheads, which cannot be converted.
 */
const ZOD: ReadonlyMap<string, ReadonlyMap<string, string | null>> = new Map([
  ["date", new Map([[regexes.date.source, null]])],
  [
    "date-time",
    new Map<string, string | null>([
      [regexes.datetime({}).source, `(${YEAR_MONTH_DAY}) "T" ${CLOCK} "Z"`],
      [regexes.datetime({ offset: true }).source, `(${YEAR_MONTH_DAY}) "T" ${CLOCK} ${UPPER_ZONE}`],
    ]),
  ],
  ["duration", new Map([[regexes.duration.source, null]])],
  ["email", new Map([[regexes.email.source, ZOD_EMAIL]])],
  ["hostname", new Map([[regexes.hostname.source, null]])],
  ["ipv4", new Map([[regexes.ipv4.source, null]])],
  ["ipv6", new Map([[regexes.ipv6.source, null]])],
  ["uuid", new Map([[regexes.uuid().source, VERSIONED_UUID]])],
]);

/** Formats that zod writes beside a pattern with the same meaning. */
export const PATTERN_NAMES: ReadonlySet<unknown> = new Set([
  "ends_with",
  "includes",
  "lowercase",
  "starts_with",
  "uppercase",
]);

/** The rule of a format, and of a pattern beside it. @returns null if no rule satisfies both */
export function formatBody(format: string, pattern: unknown): string | null {
  const body = FORMATS.get(format) ?? null;
  if (pattern === undefined || body === null) return body;
  const variant = ZOD.get(format)?.get(String(pattern));
  return variant === undefined ? null : (variant ?? body);
}
