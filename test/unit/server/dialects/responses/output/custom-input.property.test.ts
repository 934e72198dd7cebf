import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CustomInput,
  customArguments,
  customInput,
} from "../../../../../../server/dialects/responses/output/custom-input.ts";

/** JSON text with every character as an escape. */
function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, "0"));
  return `{ "input" : "${units.map((unit) => `\\u${unit}`).join("")}" }`;
}

const text = fc.string({ unit: "grapheme" });
const cuts = fc.array(fc.nat({ max: 40 }));

test("the pieces of an input add up to it, however its arguments are cut", () => {
  fc.assert(
    fc.property(text, cuts, fc.boolean(), (input, lengths, escapes) => {
      const args = escapes ? escaped(input) : customArguments(input);
      const decoder = new CustomInput();
      let decoded = "";
      let rest = args;
      for (const length of lengths) {
        decoded += decoder.push(rest.slice(0, length));
        rest = rest.slice(length);
      }
      decoded += decoder.push(rest);
      expect(decoded).toBe(input);
      expect(customInput(args)).toBe(input);
    }),
  );
});

test("an input of a megabyte is decoded", () => {
  const long = "x\n".repeat(512 * 1024);
  expect(customInput(customArguments(long))).toBe(long);
});

test.each<[string, string]>([
  ["plain", "plain"],
  ['{"other": 1}', '{"other": 1}'],
  ["", ""],
  [' {"inp', ""],
  ['{"input": "a\\', "a"],
  ['{"input": "a\\ud83d', "a"],
  ['{"input": "a\\ud83d b"}', "a\ud83d b"],
  ['{"input": "\\ud83d\\u0041"}', "\ud83dA"],
])("the pieces of %j add up to %j", (args, input) => {
  const decoder = new CustomInput();
  expect([...args].map((character) => decoder.push(character)).join("")).toBe(input);
  expect(customInput(args)).toBe(input);
});
