import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReasoningSplitter } from "../../../../../../engine/worker/text/output/reasoning-tags.ts";
import { pieces } from "./pieces.ts";

const TAGS = { open: "<think>", close: "</think>" };

function split(parts: string[], inside: boolean, callMarks?: string[]): { text: string; reasoning: string } {
  const splitter = new ReasoningSplitter(TAGS, inside, callMarks);
  const result = { text: "", reasoning: "" };
  for (const piece of [...parts.map((part) => splitter.push(part)), splitter.flush()]) {
    result.text += piece.text;
    result.reasoning += piece.reasoning;
  }
  return result;
}

/** The same rules over the whole text. */
function reference(text: string, inside: boolean, callMark = TAGS.close): { text: string; reasoning: string } {
  const tagged = /^\s{0,64}<think>/.exec(text);
  const closed = /^\s{0,64}<\/think>\s*/.exec(text);
  if (closed !== null && !inside) return { text: text.slice(closed[0].length), reasoning: "" };
  if (tagged === null && !inside) return { text, reasoning: "" };
  const thoughts = text.slice(tagged?.[0].length ?? 0);
  const close = thoughts.indexOf(TAGS.close);
  const call = thoughts.indexOf(callMark);
  if (callMark !== TAGS.close && call !== -1 && (close === -1 || call < close)) {
    return { text: thoughts.slice(call), reasoning: thoughts.slice(0, call).trimStart() };
  }
  if (close === -1) return { text: "", reasoning: thoughts.trimStart() };
  return {
    text: thoughts.slice(close + TAGS.close.length).trimStart(),
    reasoning: thoughts.slice(0, close).trimStart(),
  };
}

describe("a model that opens the reasoning itself", () => {
  test.each([
    ["<think>\nhm\n</think>\n\nYes.", { reasoning: "hm\n", text: "Yes." }],
    ["\n <think>hm</think>Yes.", { reasoning: "hm", text: "Yes." }],
    ["<think></think>\n\nYes.", { reasoning: "", text: "Yes." }],
    ["</think>\n\nYes.", { reasoning: "", text: "Yes." }],
    ["Yes.", { reasoning: "", text: "Yes." }],
    ["  indented", { reasoning: "", text: "  indented" }],
    ["The tag <think> opens, </think> closes.", { reasoning: "", text: "The tag <think> opens, </think> closes." }],
    ["<think>a</think>b <think>c</think>", { reasoning: "a", text: "b <think>c</think>" }],
    ["<think>never closed </thi", { reasoning: "never closed </thi", text: "" }],
    ["<thi", { reasoning: "", text: "<thi" }],
  ])("%j", (text, expected) => {
    expect(split([text], false)).toEqual(expected);
    expect(split([...text], false)).toEqual(expected);
  });
});

describe("a prompt that opened the reasoning", () => {
  test.each([
    ["hm</think>Yes.", { reasoning: "hm", text: "Yes." }],
    ["<think>\nhm</think>Yes.", { reasoning: "hm", text: "Yes." }],
    ["hm", { reasoning: "hm", text: "" }],
    ["<thi", { reasoning: "<thi", text: "" }],
    ["</think>\n\nYes.", { reasoning: "", text: "Yes." }],
  ])("%j", (text, expected) => {
    expect(split([text], true)).toEqual(expected);
    expect(split([...text], true)).toEqual(expected);
  });
});

test.each([
  ["hm\n<call>f", { reasoning: "hm\n", text: "<call>f" }],
  ["<call>f</think> x", { reasoning: "", text: "<call>f</think> x" }],
  ["hm</think>\n<call>f", { reasoning: "hm", text: "<call>f" }],
  ["hm <cal", { reasoning: "hm <cal", text: "" }],
])("a call ends open reasoning: %j", (text, expected) => {
  expect(split([text], true, ["<call>"])).toEqual(expected);
  expect(split([...text], true, ["<call>"])).toEqual(expected);
});

test("inside and done follow the phases", () => {
  const splitter = new ReasoningSplitter(TAGS, false);
  const seen = ["<th", "ink>", "hm", "</think>", "\n", "Yes"].map((text) => {
    splitter.push(text);
    return [splitter.inside, splitter.done];
  });
  expect(seen).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [false, false],
    [false, false],
    [false, true],
  ]);
});

test("a bounded amount of white space is held back", () => {
  const splitter = new ReasoningSplitter(TAGS, false);
  for (let count = 0; count < 64; count += 1) expect(splitter.push(" ").text).toBe("");
  expect(splitter.push(" ").text).toBe(" ".repeat(65));
  expect(splitter.done).toBe(true);
});

test("arbitrary splits give the result of the whole text", () => {
  const unit = fc.constantFrom("<think>", "</think>", "<", "/", "think", ">", " ", "\n", "a", "</thi", "<call>", "é");
  const text = fc.oneof(
    fc.array(unit, { maxLength: 12 }),
    fc.array(unit, { maxLength: 12 }).map((units) => ["<think>", ...units]),
    fc.tuple(fc.nat({ max: 70 }), fc.array(unit)).map(([white, units]) => [" ".repeat(white), ...units]),
  );
  fc.assert(
    fc.property(text, fc.array(fc.nat({ max: 9 })), fc.boolean(), (units, lengths, inside) => {
      const all = units.join("");
      expect(split(pieces(all, lengths), inside)).toEqual(reference(all, inside));
      expect(split(pieces(all, lengths), inside, ["<call>"])).toEqual(reference(all, inside, "<call>"));
    }),
    { numRuns: 2000 },
  );
});
