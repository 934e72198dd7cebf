import { expect, test } from "vitest";
import { cppTokens } from "../../../../bench/conformance/cpp-tokens.ts";

test.each<[string, string, string[]]>([
  ["names, numbers and signs", "a::b(1, x->y);", ["a", "::", "b", "(", "1", ",", "x", "->", "y", ")", ";"]],
  ["strings with escapes", String.raw`"a\n\"b\"\t\\"`, ['a\n"b"\t\\']],
  ["strings that follow one another", '"a" /* x */ // "y"\n "b"', ["ab"]],
  ["raw strings, with and without a delimiter", 'R"({"a": "\\n"})" R"x(")")x"', ['{"a": "\\n"}")"']],
  ["characters", "';' x", ["';'", "x"]],
])("%s become tokens", (_, source, texts) => {
  expect(cppTokens(source).map(({ text }) => text)).toEqual(texts);
});

test("tokens have the line on which they begin", () => {
  expect(cppTokens('a\n/* \n */ R"(\n)"\nb').map(({ line }) => line)).toEqual([1, 3, 5]);
});
