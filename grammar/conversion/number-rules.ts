import { Dfa } from "../language/dfa.ts";
import { multiples } from "../language/multiples.ts";
import { type Bounds, integers, numbers } from "../language/number-range.ts";
import { TooManyStates } from "../language/too-many-states.ts";
import type { Work } from "../language/work.ts";
import { bound } from "../schema/keyword-numbers.ts";
import type { SchemaObject, SchemaPath } from "../schema/keywords.ts";
import type { Clause } from "../schema/part.ts";
import { enforceable } from "../schema/pattern-texts.ts";
import { NoValue, UnsupportedSchema } from "../schema/unsupported-schema.ts";
import { negated } from "../schema/value-limits.ts";
import { namedTypes } from "../schema/value-type.ts";
import type { GrammarBuilder } from "./builder.ts";

/** Smaller numbers are written with an exponent. */
const LEAST = 1e-6;
const BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;
/** Decimal numbers that a double tells apart from every number of fewer digits. */
const DECIMALS = '"-"? ("0" | [1-9] [0-9]{0,7}) ("." [0-9]{1,7})?';
/** The same with any number of whole digits beside as many decimals as leave 15 digits. */
const SIGNIFICANT = `"-"? (${Array.from({ length: 15 }, (_, i) => {
  const whole = i === 0 ? "[0-9]" : `[1-9] [0-9]{${i}}`;
  return i === 14 ? whole : `${whole} ("." [0-9]{1,${14 - i}})?`;
}).join(" | ")})`;
/** Integers that a double represents exactly. */
const EXACT = 10 ** 15 - 1;
/** Integers of any length: their digits cannot be counted beside the remainders of a large divisor. */
const WHOLE = '"-"? ("0" | [1-9] [0-9]*)';
/** Most states of divisors beside which digits are counted. */
const MOST_COUNTED = 200;

/** The right-hand side for the numbers that match all clauses. @param excluded numbers that are not allowed */
export function numberRule(
  grammar: GrammarBuilder,
  clauses: readonly Clause[],
  excluded: readonly number[],
  path: SchemaPath,
): string {
  const divisors = divisorsOf(clauses);
  const whole = divisors.some(({ divisor, not }) => !not && Number.isInteger(divisor)) || clauses.some(isInteger);
  const bounds = boundsOf(clauses);
  const bounded = bounds.min !== null || bounds.max !== null;
  const others = divisors.filter(({ divisor, not }) => not || !(whole && divisor === 1));
  if (others.length === 0 && excluded.length === 0) {
    if (!bounded) return whole ? grammar.json.integer : grammar.json.number;
    return grammar.rule(whole ? "integer" : "number", withinBounds(bounds, whole, clauses));
  }
  const at = others[0]?.path ?? path;
  const name = whole ? "integer" : "number";
  return enforceable(at, () => {
    const limits = others.map(({ divisor, not }) => {
      const texts = multiples(divisor, grammar);
      return not ? texts.not() : texts;
    });
    const counted = limits.reduce((states, { size }) => states * size, 1) <= MOST_COUNTED;
    // A number that a reader rounds may be another multiple, or an excluded value.
    const exact = { ...bounds, min: Math.max(bounds.min ?? -EXACT, -EXACT), max: Math.min(bounds.max ?? EXACT, EXACT) };
    const integersWithin = () => (bounded || counted ? withinBounds(exact, true, clauses) : WHOLE);
    const numbersWithin = () => (bounded ? withinBounds(bounds, false, clauses) : DECIMALS);
    const all = Dfa.of(whole ? integersWithin() : numbersWithin(), grammar);
    const left = (texts: Dfa) => {
      const within = limits.reduce((one, limit) => one.and(limit), texts);
      return excluded.length === 0 ? within : within.and(Dfa.of(excluded.map(spellings).join(" | "), grammar).not());
    };
    const texts = whole || !bounded ? left(all) : exactly(all, left, grammar);
    if (texts.empty) throw new NoValue(at, "no number matches it and the keywords beside it.");
    return texts.rule(grammar, name, (set) => set.gbnf);
  });
}

/** Numbers of as many digits as a double tells apart: all of them, or those of few decimals where all take too many states. */
function exactly(texts: Dfa, left: (texts: Dfa) => Dfa, work: Work): Dfa {
  try {
    return left(texts.and(Dfa.of(SIGNIFICANT, work)));
  } catch (error) {
    if (!(error instanceof TooManyStates)) throw error;
    const fewer = left(texts.and(Dfa.of(DECIMALS, work)));
    if (fewer.empty) throw error;
    return fewer;
  }
}

function withinBounds(bounds: Bounds, whole: boolean, clauses: readonly Clause[]): string {
  const body = whole ? integers(bounds) : numbers(bounds);
  if (body !== null) return body;
  const keyword = ["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"].find((key) => {
    return clauses.some(({ schema }) => schema[key] !== undefined);
  })!;
  const { path } = clauses.find(({ schema }) => schema[keyword] !== undefined)!;
  throw new NoValue([...path, keyword], "no number is within the bounds.");
}

function isInteger({ schema, path }: Clause): boolean {
  const types = namedTypes(schema, path);
  return types?.has("integer") === true && !types.has("number");
}

/** All ways in which the rules here write a number. */
function spellings(value: number): string {
  const [whole, fraction] = plain(Math.abs(value)).split(".");
  const sign = value === 0 ? '"-"?' : value < 0 ? '"-"' : "";
  return `${sign} "${whole}" ${fraction === undefined ? '("." "0"+)?' : `"." "${fraction}" "0"*`}`;
}

/** A number of 0 or more without an exponent. */
function plain(value: number): string {
  if (Number.isInteger(value)) return String(BigInt(value));
  const [mantissa, exponent] = String(value).split("e-");
  return exponent === undefined ? mantissa! : `0.${"0".repeat(Number(exponent) - 1)}${mantissa!.replace(".", "")}`;
}

interface Divisor {
  divisor: number;
  /** True if multiples are not allowed. */
  not: boolean;
  path: SchemaPath;
}

function divisorsOf(clauses: readonly Clause[]): Divisor[] {
  return clauses.flatMap(({ schema, path }) => {
    return [...divisor(schema, path, false), ...divisor(negated(schema), [...path, "not"], true)];
  });
}

function divisor(schema: SchemaObject, path: SchemaPath, not: boolean): Divisor[] {
  const value = bound(schema, "multipleOf", path);
  if (value === null) return [];
  if (value <= 0) throw new UnsupportedSchema([...path, "multipleOf"], "expected a number greater than 0.");
  return [{ divisor: value, not, path: [...path, "multipleOf"] }];
}

/** The narrowest bounds of all clauses. */
function boundsOf(clauses: readonly Clause[]): Bounds {
  const all: Bounds = { min: null, max: null, openMin: false, openMax: false };
  for (const { schema, path } of clauses) {
    for (const keyword of BOUNDS) {
      const value = boundOf(schema, keyword, path);
      if (value === null) continue;
      const open = keyword.startsWith("exclusive");
      if (keyword.endsWith("inimum")) {
        if (all.min === null || value > all.min || (value === all.min && open)) {
          all.min = value;
          all.openMin = open;
        }
      } else if (all.max === null || value < all.max || (value === all.max && open)) {
        all.max = value;
        all.openMax = open;
      }
    }
  }
  return all;
}

function boundOf(schema: SchemaObject, keyword: (typeof BOUNDS)[number], path: SchemaPath): number | null {
  // Until draft 4 of JSON Schema it was a boolean beside the bound.
  if (typeof schema[keyword] === "boolean") {
    throw new UnsupportedSchema([...path, keyword], "expected a number, as since draft 6 of JSON Schema.");
  }
  const value = bound(schema, keyword, path);
  const size = Math.abs(value ?? 0);
  if (size > 0 && size < LEAST) throw new UnsupportedSchema([...path, keyword], "it is too close to 0 to be enforced.");
  return value;
}
