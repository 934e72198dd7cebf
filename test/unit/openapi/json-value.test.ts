import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finished } from "../../../grammar/gbnf/paused-work.ts";
import { CUT_LENGTH, JsonCuts } from "../../../openapi/json/json-cuts.ts";
import { JsonScan } from "../../../openapi/json/json-scan.ts";
import { JsonFault, jsonValue } from "../../../openapi/json/json-value.ts";

/** The cuts of a text that comes in pieces. */
function cutsOf(text: string, length?: number, piece = text.length) {
  const cuts = new JsonCuts(length);
  const scan = new JsonScan(cuts);
  for (let at = 0; at < text.length; at += piece) scan.push(text.slice(at, at + piece));
  cuts.end(text.length);
  return cuts.cuts;
}

/** Result of a text: its value, written with the order of its keys and the sign of zeros; null where it is none. */
function outcome(parse: () => unknown): string | null {
  try {
    return written(parse());
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof JsonFault && error.kind === "syntax")) return null;
    throw error;
  }
}

function written(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.getOwnPropertyNames(value).map((key) => {
    const { value: entry, ...attributes } = Object.getOwnPropertyDescriptor(value, key)!;
    return `${JSON.stringify(key)}${JSON.stringify(attributes)}:${written(entry)}`;
  });
  return `{${members.join()}}${Object.getPrototypeOf(value) === Object.prototype}`;
}

const blank = fc.constantFrom("", "", "", " ", "\n\t", "\r ");
/** Escapes wherever they may be cut. */
const longString = fc
  .array(fc.constantFrom("\\\\", '\\"', "\\u4e2d", "\\n", "u", "a", "0041", "😀", "[,"), {
    minLength: 20,
    maxLength: 60,
  })
  .map((parts) => `"${parts.join("")}"`);
const scalar = fc.oneof(
  fc.constantFrom("0", "-0", "1e400", "-1E-400", "0.1", "12345678901234567890", "true", "null", '"[{,:\\""', '"\\\\"'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.string({ maxLength: 5 }).map((text) => JSON.stringify(text)),
  longString,
);
/** Few names, so that many are equal; some are kept in another order than that in which they come. */
const key = fc.constantFrom("a", "b", "7", "10", "__proto__", "constructor", "", "\\u0061", "{", '\\"');
/** JSON with white space, and with keys that come twice. */
const { text: valid } = fc.letrec<{ text: string }>((tie) => {
  const item = fc.tuple(blank, tie("text"), blank).map((parts) => parts.join(""));
  const member = fc.tuple(blank, key, blank, item).map(([before, name, after, text]) => {
    return `${before}"${name}"${after}:${text}`;
  });
  const container = (open: string, part: fc.Arbitrary<string>, close: string) =>
    fc.array(part, { maxLength: 6 }).map((parts) => `${open}${parts.join()}${close}`);
  return { text: fc.oneof({ maxDepth: 4 }, scalar, container("[", item, "]"), container("{", member, "}")) };
});
/** JSON in which something may be missing, too much or in the wrong place. */
const text = fc
  .tuple(
    fc.array(valid, { minLength: 1, maxLength: 2 }),
    fc.nat(),
    fc.constantFrom("", ...'[]{},:"0- \\\uFEFFa'),
    fc.nat(2),
  )
  .map(([parts, at, mark, removed]) => {
    const whole = parts.join(",");
    const place = at % (whole.length + 1);
    return whole.slice(0, place) + mark + whole.slice(place + removed);
  });

describe("a JSON text that is parsed in parts", () => {
  it.each([
    ["a JSON text", valid],
    ["any text", text],
  ])("has the value or the error of the whole text: %s", (_, texts) => {
    fc.assert(
      fc.property(texts, fc.nat(6), fc.integer({ min: 1, max: 40 }), (text, length, piece) => {
        const cuts = cutsOf(text, length, piece);
        expect(outcome(() => finished(jsonValue(text, cuts)))).toBe(outcome(() => JSON.parse(text)));
      }),
      { numRuns: 400 },
    );
  });

  it("is refused for a NUL or a lone surrogate in any part", () => {
    for (const broken of ["\\ud800", "\\u0000", "x\\uDC00"]) {
      for (const part of [`["${broken}",1,2]`, `[1,2,["${broken}"]]`, `[1,{"${broken}":[1,2,3]},2]`]) {
        expect(() => finished(jsonValue(part, cutsOf(part, 1)))).toThrow(expect.objectContaining({ kind: "text" }));
      }
    }
    for (let piece = 13; piece < 40; piece++) {
      const pairs = `["${"\\ud83d\\ude00😀".repeat(20)}"]`;
      expect(finished(jsonValue(pairs, cutsOf(pairs, 1, piece)))).toEqual(["😀😀".repeat(20)]);
    }
    for (const broken of ["\\ud83d", "\\ude00", "\\u0000"]) {
      const long = `["${"\\ud83d\\ude00".repeat(20)}${broken}${"a".repeat(100)}"]`;
      expect(() => finished(jsonValue(long, cutsOf(long, 1, 50)))).toThrow(expect.objectContaining({ kind: "text" }));
    }
  });
});

const LENGTH = 4096;
const list = (count: number, item: (i: number) => string) => Array.from({ length: count }, (_, i) => item(i)).join();

it.each([
  ["fractions", `[${list(40_000, (i) => `0.${1_000_000 + i}`)}]`],
  ["short strings", `[${list(60_000, (i) => `"${i.toString(36)}"`)}]`],
  ["escapes", `[${list(30_000, (i) => `"\\n${i}\\u0416"`)}]`],
  ["members", `{"x":{${list(10_000, (i) => `"${i.toString(36)}":"${"v".repeat(30)}"`)}}}`],
  ["messages", `{"messages":[${list(2000, (i) => `{"role":"user","content":"${"x".repeat(i % 300)}"}`)}]}`],
  ["one string", `{"messages":[{"role":"user","content":"${'\\\\\\"\\u0416'.repeat(40_000)}"}]}`],
  ["lists in lists", `[${list(30, () => `[[${list(1000, (i) => `[${i}]`)}]]`)}]`],
])("a long text of %s is parsed in slices of a bounded length", (_, text) => {
  const cuts = cutsOf(text, LENGTH, LENGTH);
  const lengths = cuts.map((cut) => ("from" in cut ? cut.to - cut.from : 0));
  expect(lengths.length).toBeGreaterThan(text.length / LENGTH / 3);
  // A part ends with the first value that reaches the length, or within a string.
  expect(Math.max(...lengths)).toBeLessThan(2 * LENGTH + 400);
  let slices = 1;
  for (const _ of jsonValue(text, cuts)) slices++;
  expect(slices).toBeGreaterThan(text.length / (2 * CUT_LENGTH));
  expect(JSON.stringify(finished(jsonValue(text, cuts)))).toBe(JSON.stringify(JSON.parse(text)));
});
