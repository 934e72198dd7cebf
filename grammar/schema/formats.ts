import { regexes } from "zod/v4/core";

const OCTET = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9]{2} | [1-9]? [0-9])';
const GROUP = "[0-9a-f]{1,4}";
const YEAR_MONTH_DAY =
  '([0-9]{3} [1-9] | [0-9]{2} [1-9] [0-9]) "-" (("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ' +
  '("04" | "06" | "09" | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | ' +
  '[0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) "-02-29"';
const CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})?';
const ZONE = '("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])';
// Without two consecutive hyphens, which mark punycode, and without a last label of digits, as in an IPv4 address.
const LABEL = '[a-z0-9] ("-"? [a-z0-9]){0,30}';
const HOST = `(${LABEL} "."){0,4} [a-z] ("-"? [a-z0-9]){0,30}`;
const AMOUNT = "[1-9] [0-9]{0,5}";
const TIME_AMOUNTS = `(${AMOUNT} "H" (${AMOUNT} "M")? (${AMOUNT} "S")? | ${AMOUNT} "M" (${AMOUNT} "S")? | ${AMOUNT} "S")`;
const DATE_AMOUNTS = `(${AMOUNT} "Y" (${AMOUNT} "M")? (${AMOUNT} "D")? | ${AMOUNT} "M" (${AMOUNT} "D")? | ${AMOUNT} "D")`;

/**
 * The text between the quotes, by format. Each is a subset of its RFC (JSON Schema 2020-12, 7.3) on which validators agree:
 * no leap seconds, lower case in hosts, no quoted names in addresses.
 */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ["date", YEAR_MONTH_DAY],
  ["time", `${CLOCK} ${ZONE}`],
  ["date-time", `(${YEAR_MONTH_DAY}) "T" ${CLOCK} ${ZONE}`],
  ["duration", `"P" (${DATE_AMOUNTS} ("T" ${TIME_AMOUNTS})? | "T" ${TIME_AMOUNTS} | ${AMOUNT} "W")`],
  ["email", `[a-z0-9] ([-_+.]? [a-z0-9]){0,40} "@" (${LABEL} "."){1,4} [a-z]{2,24}`],
  ["hostname", HOST],
  ["ipv4", `${OCTET} ("." ${OCTET}){3}`],
  ["ipv6", `(${GROUP} ":"){7} ${GROUP} | "::" (${GROUP} (":" ${GROUP}){0,6})? | (${GROUP} ":"){1} (":" ${GROUP}){1,6}`],
  ["uuid", '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [1-8] [0-9a-f]{3} "-" [89ab] [0-9a-f]{3} "-" [0-9a-f]{12}'],
  [
    "uri",
    `"http" "s"? "://" ${HOST} (":" [1-9] [0-9]{0,3})? ("/" [A-Za-z0-9._~-]*)* ("?" [A-Za-z0-9._~=&-]*)? ("#" [A-Za-z0-9._~-]*)?`,
  ],
]);

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
      [regexes.datetime({ offset: true }).source, null],
    ]),
  ],
  ["duration", new Map([[regexes.duration.source, null]])],
  ["email", new Map([[regexes.email.source, null]])],
  ["hostname", new Map([[regexes.hostname.source, null]])],
  ["ipv4", new Map([[regexes.ipv4.source, null]])],
  ["ipv6", new Map([[regexes.ipv6.source, null]])],
  ["uuid", new Map([[regexes.uuid().source, null]])],
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
