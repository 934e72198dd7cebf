import { expect, test } from "vitest";
import { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { schemaRule } from "../../../grammar/conversion/schema-rules.ts";
import type { SchemaObject } from "../../../grammar/schema/keywords.ts";
import { GrammarTooLarge } from "../../../grammar/schema/unsupported-schema.ts";

function each<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function named<T>(count: number, make: (i: number) => T): Record<string, T> {
  return Object.fromEntries(each(count, (i) => [`d${i}`, make(i)]));
}

const CHARACTERS = each(900, (i) => String.fromCharCode(0x4e00 + 2 * i)).join("");

/** Schemas of which every part is small enough, and that take a minute without a bound for all parts together. */
const LONG: [string, SchemaObject][] = [
  [
    "alternatives of patterns that exclude each other",
    { anyOf: each(100, (i) => ({ type: "string", pattern: `(a|b)*a(a|b){9}${i}`, allOf: [{ pattern: `^x${i}$` }] })) },
  ],
  [
    "hundreds of divisors of one number",
    { type: "integer", minimum: 0, maximum: 9, allOf: each(300, (i) => ({ not: { multipleOf: 1999 - i } })) },
  ],
  ["a repeated class of many ranges", { type: "string", pattern: `[${CHARACTERS}]{50}`, minLength: 10 }],
  [
    "a list of values beside many combinations",
    {
      properties: { a: { enum: each(1000, (i) => i) } },
      allOf: each(12, (i) => ({
        anyOf: [{ properties: { a: { minimum: -i } } }, { properties: { a: { maximum: 5000 + i } } }],
      })),
    },
  ],
  [
    "long chains of references",
    {
      $defs: named(1500, (i) => (i === 1499 ? { type: "string" } : { $ref: `#/$defs/d${i + 1}` })),
      anyOf: each(300, (i) => ({ $ref: "#/$defs/d0", maxLength: i })),
    },
  ],
];

test.each(LONG)("the work for one grammar is bounded: %s", (_, schema) => {
  expect(() => schemaRule(new GrammarBuilder(undefined, 200_000), schema)).toThrow(GrammarTooLarge);
});

test("a negated 'oneOf' of many schemas is refused before its pairs are made", () => {
  const oneOf = each(2000, () => ({ type: "string" }));
  expect(() => schemaRule(new GrammarBuilder(), { not: { oneOf } })).toThrow("at most 256 schemas");
});
