import { Dfa } from "./dfa.ts";
import { TooManyStates } from "./too-many-states.ts";
import type { Work } from "./work.ts";

/** Most decimals of a divisor. */
const MOST_DECIMALS = 15;
/** Most remainders to tell apart. */
const MOST_REMAINDERS = 2000;
const DIGITS = [..."0123456789"];

/** The text so far: its sign, its whole digits, or its decimals. */
interface Reading {
  at: "start" | "sign" | "zero" | "whole" | "point" | "decimals";
  /** Of the digits before the last `zeros` ones, by the divisor without its factors of ten. */
  remainder: number;
  /** Zeros at the end, at most the divisor's factors of ten. */
  zeros: number;
  /** Decimals so far, at most those of the divisor. */
  decimals: number;
}

/**
 * The decimal numbers, without exponents, that are multiples of a divisor.
 *
 * @param divisor greater than 0
 * @throws TooManyStates
 */
export function multiples(divisor: number, work: Work): Dfa {
  const { digits, decimals } = decimalOf(divisor);
  if (decimals > MOST_DECIMALS) throw new TooManyStates();
  const zeros = /0*$/.exec(digits)![0].length;
  const base = BigInt(digits.slice(0, digits.length - zeros));
  if (base > BigInt(MOST_REMAINDERS)) throw new TooManyStates();
  const modulus = Number(base);
  const shifted = (remainder: number, times: number): number => {
    let shifted = remainder;
    for (let i = 0; i < times; i++) shifted = (shifted * 10) % modulus;
    return shifted;
  };
  const read = (before: Reading, digit: number): Omit<Reading, "at" | "decimals"> => {
    if (digit === 0 && before.zeros < zeros) return { remainder: before.remainder, zeros: before.zeros + 1 };
    if (digit === 0) return { remainder: shifted(before.remainder, 1), zeros };
    return { remainder: (shifted(before.remainder, before.zeros + 1) + digit) % modulus, zeros: 0 };
  };
  const next = (state: Reading, char: string): Reading | null => {
    const { at } = state;
    if (char === "-") return at === "start" ? { ...state, at: "sign" } : null;
    if (char === ".") return at === "zero" || at === "whole" ? { ...state, at: "point" } : null;
    const digit = Number(char);
    if (at === "zero") return null;
    if (at === "start" || at === "sign" || at === "whole") {
      // A zero is a multiple of everything: as if it had all zeros that are needed.
      if (at !== "whole" && digit === 0) return { at: "zero", remainder: 0, zeros, decimals: 0 };
      return { at: "whole", ...read(state, digit), decimals: 0 };
    }
    if (state.decimals === decimals) return digit === 0 ? { ...state, at: "decimals" } : null;
    return { at: "decimals", ...read(state, digit), decimals: state.decimals + 1 };
  };
  const isMultiple = (state: Reading): boolean => {
    if (state.at === "start" || state.at === "sign" || state.at === "point") return false;
    let padded = state;
    for (let i = state.decimals; i < decimals; i++) padded = { ...padded, ...read(padded, 0) };
    return padded.zeros === zeros && padded.remainder === 0;
  };
  const start: Reading = { at: "start", remainder: 0, zeros: 0, decimals: 0 };
  const visit = (state: Reading) => ({
    accepts: isMultiple(state),
    edges: ["-", ".", ...DIGITS].flatMap((char): [number, number, Reading][] => {
      const to = next(state, char);
      const point = char.charCodeAt(0);
      return to === null ? [] : [[point, point, to]];
    }),
  });
  return Dfa.ofMachine(start, visit, work);
}

/** The digits of a number as a whole one, and how many of them are decimals. */
function decimalOf(value: number): { digits: string; decimals: number } {
  const [mantissa, exponent] = String(value).split("e");
  const [whole, fraction = ""] = mantissa!.split(".");
  const decimals = fraction.length - Number(exponent ?? 0);
  const digits = `${whole}${fraction}`.replace(/^0+(?=.)/, "");
  return decimals < 0 ? { digits: digits + "0".repeat(-decimals), decimals: 0 } : { digits, decimals };
}

/** True for a multiple of a divisor, both taken as the decimal numbers that they are written as. */
export function isMultiple(value: number, divisor: number): boolean {
  const [one, two] = [decimalOf(Math.abs(value)), decimalOf(divisor)];
  const decimals = Math.max(one.decimals, two.decimals);
  const whole = ({ digits, decimals: own }: { digits: string; decimals: number }) => {
    return BigInt(digits + "0".repeat(decimals - own));
  };
  return whole(one) % whole(two) === 0n;
}
