import { oneOf } from "../gbnf/literal.ts";

/** Decimal digits that a double represents exactly. */
const EXACT_DIGITS = 15;
/** Bounds of integers without others: those of 64 bits. */
const LEAST_INTEGER = -(2n ** 63n);
const MOST_INTEGER = 2n ** 63n - 1n;
const BEYOND = 10 ** EXACT_DIGITS;
const FRACTION = `("." [0-9]{1,${EXACT_DIGITS}})?`;

export const anyInteger = `"-"? ${naturals(0n, MOST_INTEGER)} | "${LEAST_INTEGER}"`;
/** The exponent is bounded, so that no number is parsed as infinite. */
export const anyNumber = `"-"? ("0" | [1-9] [0-9]{0,18}) ${FRACTION} ([eE] [-+]? [1-9] [0-9]?)?`;

/** Bounds of a number; null for none. */
export interface Bounds {
  min: number | null;
  max: number | null;
  /** True if the bound itself is excluded. */
  openMin: boolean;
  openMax: boolean;
}

/** The right-hand side for integers within bounds. @returns null if there are none */
export function integers({ min, max, openMin, openMax }: Bounds): string | null {
  const low = min === null ? LEAST_INTEGER : BigInt(Math.ceil(min)) + (openMin && Number.isInteger(min) ? 1n : 0n);
  const high = max === null ? MOST_INTEGER : BigInt(Math.floor(max)) - (openMax && Number.isInteger(max) ? 1n : 0n);
  return wholes(low > LEAST_INTEGER ? low : LEAST_INTEGER, high < MOST_INTEGER ? high : MOST_INTEGER);
}

function wholes(low: bigint, high: bigint): string | null {
  const parts: string[] = [];
  if (low < 0n) {
    const negative = naturals(high >= 0n ? 1n : -high, -low);
    if (negative !== null) parts.push(`"-" ${negative}`);
  }
  if (high >= 0n) {
    const positive = naturals(low < 0n ? 0n : low, high);
    if (positive !== null) parts.push(positive);
  }
  return parts.length === 0 ? null : oneOf(parts);
}

/** Natural numbers from `low` to `high`, without leading zeros. Without an upper bound they have at most the exact digits. */
function naturals(low: bigint, high: bigint | null): string | null {
  const top = high ?? 10n ** BigInt(Math.max(EXACT_DIGITS, String(low).length + 1)) - 1n;
  if (low > top) return null;
  const [fewest, most] = [String(low).length, String(top).length];
  const parts: string[] = [];
  for (let digits = fewest; digits <= most; digits++) {
    const [first, last] = ofLength(digits);
    if (low <= first && last <= top && digits > 1) {
      // All numbers of this length, and of the next ones up to the length of the last number.
      const longest = top === ofLength(most)[1] ? most : most - 1;
      parts.push(`[1-9] [0-9]{${digits - 1}${longest > digits ? `,${longest - 1}` : ""}}`);
      digits = longest;
    } else {
      parts.push(between(String(low > first ? low : first), String(top < last ? top : last)));
    }
  }
  return oneOf(parts);
}

/** The least and the greatest natural number of a length. */
function ofLength(digits: number): [bigint, bigint] {
  return [digits === 1 ? 0n : 10n ** BigInt(digits - 1), 10n ** BigInt(digits) - 1n];
}

/** Digit strings of one length, from `low` to `high`. */
function between(low: string, high: string): string {
  if (low === "") return '""';
  const [a, b] = [low[0]!, high[0]!];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  const free = digits(lowRest.length);
  if (/^0*$/.test(lowRest) && /^9*$/.test(highRest)) return `${digit(a, b)}${free}`;
  if (a === b) return `"${a}" ${between(lowRest, highRest)}`;
  const parts: string[] = [`"${a}" ${between(lowRest, "9".repeat(lowRest.length))}`];
  if (Number(b) - Number(a) > 1) parts.push(`${digit(String(Number(a) + 1), String(Number(b) - 1))}${free}`);
  parts.push(`"${b}" ${between("0".repeat(highRest.length), highRest)}`);
  return oneOf(parts);
}

function digit(from: string, to: string): string {
  return from === to ? `"${from}"` : `[${from}-${to}]`;
}

function digits(count: number): string {
  return count === 0 ? "" : ` [0-9]{${count}}`;
}

/**
 * The right-hand side for numbers within bounds, without exponents. A bound of 10^15 or more exceeds every number written.
 *
 * @returns null if there are none
 */
export function numbers({ min: low, max: high, openMin, openMax }: Bounds): string | null {
  const min = low !== null && low <= -BEYOND ? null : low;
  const max = high !== null && high >= BEYOND ? null : high;
  if ((min ?? 0) >= BEYOND || (max ?? 0) <= -BEYOND) return null;
  const parts: string[] = [];
  if (min === null || min < 0) {
    const least = max !== null && max < 0 ? -max : 0;
    const mirrored = magnitudes(least, min === null ? null : -min, max !== null && max <= 0 && openMax, openMin);
    if (mirrored !== null) parts.push(`"-" ${mirrored}`);
  }
  if (max === null || max >= 0) {
    const least = min !== null && min > 0 ? min : 0;
    const positive = magnitudes(least, max, min !== null && min >= 0 && openMin, openMax);
    if (positive !== null) parts.push(positive);
  }
  return parts.length === 0 ? null : oneOf(parts);
}

/** Decimal numbers without a sign, from `low` to `high`. */
function magnitudes(low: number, high: number | null, openLow: boolean, openHigh: boolean): string | null {
  if (high !== null && low > high) return null;
  const [lowWhole, lowFraction] = decimal(low);
  if (high === null) {
    const parts = [`${naturals(BigInt(lowWhole) + 1n, null)} ${FRACTION}`];
    const edge = fraction(lowFraction, null, openLow, false, Math.max(1, EXACT_DIGITS - lowWhole.length));
    if (edge !== null) parts.push(`"${lowWhole}" ${edge}`);
    return oneOf(parts);
  }
  const [highWhole, highFraction] = decimal(high);
  // More digits than a double represents could be rounded to an excluded bound.
  const room = Math.max(1, EXACT_DIGITS - highWhole.length);
  if (lowWhole === highWhole) {
    const edge = fraction(lowFraction, highFraction, openLow, openHigh, room);
    return edge === null ? null : `"${lowWhole}" ${edge}`;
  }
  const parts: string[] = [];
  const below = fraction(lowFraction, null, openLow, false, room);
  if (below !== null) parts.push(`"${lowWhole}" ${below}`);
  const inside = naturals(BigInt(lowWhole) + 1n, BigInt(highWhole) - 1n);
  if (inside !== null) parts.push(`${inside} ("." [0-9]{1,${room}})?`);
  const above = fraction(null, highFraction, false, openHigh, room);
  if (above !== null) parts.push(`"${highWhole}" ${above}`);
  return parts.length === 0 ? null : oneOf(parts);
}

/** Digits before and after the decimal point, of a number without an exponent. */
function decimal(value: number): [whole: string, fraction: string] {
  const [whole, rest] = String(value).split(".");
  return [whole!, rest ?? ""];
}

/** The part after the whole digits: nothing, or a point and digits within the bounds. */
function fraction(low: string | null, high: string | null, openLow: boolean, openHigh: boolean, room: number) {
  const lowest = low === null ? null : low.replace(/0+$/, "");
  const highest = high === null ? null : high.replace(/0+$/, "");
  const none = (lowest === null || (lowest === "" && !openLow)) && (highest !== "" || !openHigh);
  const some = tail(lowest, highest, openLow, openHigh, Math.max(room, low?.length ?? 0, high?.length ?? 0));
  if (some === null) return none ? '""' : null;
  return none ? `("." ${some})?` : `"." ${some}`;
}

/** Digits of a fraction, one to `room`, within bounds that are fractions too. */
function tail(
  low: string | null,
  high: string | null,
  openLow: boolean,
  openHigh: boolean,
  room: number,
): string | null {
  if (room <= 0) return null;
  const free = low === null || (low === "" && !openLow);
  if (free && high === null) return `[0-9]{1,${room}}`;
  if (high === "") return openHigh || (low !== null && !free) ? null : `"0"{1,${room}}`;
  const rest = room - 1;
  const a = free ? 0 : Number(low?.[0] ?? "0");
  const b = high === null ? 9 : Number(high[0]);
  const lowRest = free ? null : low!.slice(1);
  const highRest = high === null ? null : high.slice(1);
  const parts: string[] = [];
  const edge = (at: number, from: string | null, to: string | null) => {
    // The digits may end here, unless the number is then below the lower bound or equal to an excluded bound.
    const ends = (from === null || (from === "" && !openLow)) && (to !== "" || !openHigh);
    const more = tail(from, to, openLow, openHigh, rest);
    if (more !== null) parts.push(ends ? `"${at}" (${more})?` : `"${at}" ${more}`);
    else if (ends) parts.push(`"${at}"`);
  };
  if (a === b) {
    edge(a, lowRest, highRest);
  } else {
    edge(a, lowRest, null);
    if (b - a > 1) parts.push(`[${a + 1}-${b - 1}] [0-9]{0,${rest}}`);
    edge(b, null, highRest);
  }
  return parts.length === 0 ? null : oneOf(parts);
}
