import { describe, expect, test } from "vitest";
import { Automaton } from "../../../engine/worker/grammar/automaton.ts";
import { TokenTrie } from "../../../engine/worker/grammar/token-trie.ts";
import { compileGbnf } from "../../../grammar/gbnf/compile-gbnf.ts";
import { GbnfError } from "../../../grammar/gbnf/gbnf.ts";
import { reader } from "./reads.ts";

describe("GBNF", () => {
  test.each<[string, string, string[], string[]]>([
    ["literals and alternatives", 'root ::= "a" | "bc"', ["a", "bc"], ["", "b", "abc"]],
    ["classes", "root ::= [a-c] [^a-c\\n] [\\]\\-]", ["ax]", "cé-"], ["aa]", "a\n]"]],
    ["any character", "root ::= .", ["x", "é", "😀"], ["", "xy"]],
    ["escapes", 'root ::= "\\x41\\u00e9\\U0001F600\\"\\\\"', ['Aé😀"\\'], ["A"]],
    [
      "repetitions",
      'root ::= "a"* "b"+ "c"? ("d" | "e"){2} "f"{1,2} "g"{2,}',
      ["bdeffgg", "aabbcddfggg"],
      ["bdefg", "bdeffff"],
    ],
    [
      "rules, comments and line breaks",
      'root ::= # here\n  item ("," item)*\nitem ::= [0-9]+ |\n  "x"\n',
      ["1,x,22"],
      ["1,"],
    ],
    ["right recursion", 'root ::= "a" root | "b"', ["b", "aaab"], ["a", "ba"]],
    ["recursion in the middle", 'root ::= "(" root ")" | ""', ["", "((()))"], ["(", "(()"]],
    ["a repetition of a possibly empty group", 'root ::= ("a"? "b"?)* "c"', ["c", "abbac"], ["ab"]],
  ])("%s", (_, gbnf, good, bad) => {
    const reads = reader(gbnf);
    for (const text of good) expect(reads(text), text).toBe(true);
    for (const text of bad) expect(reads(text), text).toBe(false);
  });

  test("an incomplete character can only be completed to an allowed one", () => {
    const automaton = new Automaton(compileGbnf("root ::= [à-é]"));
    const half = automaton.walk(automaton.start, Uint8Array.of(0xc3))!;
    expect(automaton.step(half, 0xa9)?.complete).toBe(true);
    expect(automaton.step(half, 0xaa)).toBeNull();
    expect(automaton.step(automaton.start, 0xa9)).toBeNull();
  });
});

// Each is cheap: excessive work or recursion would exceed the time limit of a test.
describe("a grammar is refused", () => {
  test.each([
    ["empty", "", /no rule 'root'/],
    ["without a root", 'a ::= "b"', /no rule 'root'/],
    ["with an undefined rule", "root ::= a", /'a'/],
    ["with a rule twice", 'root ::= "a"\nroot ::= "b"', /twice/],
    ["left-recursive", 'root ::= root "a" | "b"', /left-recursive/],
    ["left-recursive after a possibly empty rule", 'root ::= e root "a" | "b"\ne ::= "x"?', /left-recursive/],
    ["left-recursive over several rules", 'root ::= a\na ::= b "x" | "y"\nb ::= a', /left-recursive/],
    ["left-recursive in an unused rule", 'root ::= "a"\nb ::= b "c"', /left-recursive/],
    ["that never ends", 'root ::= "a" root', /never come to an end/],
    ["with an empty class", "root ::= []", /never come to an end/],
    ["with an open literal", 'root ::= "a', /never closed/],
    ["with an open class", "root ::= [a", /never closed/],
    ["with an open group", 'root ::= ("a"', /'\)'/],
    ["with a repetition of nothing", "root ::= *", /nothing to repeat/],
    ["with a backward repetition", 'root ::= "a"{3,2}', /before it begins/],
    ["with a backward range", "root ::= [z-a]", /backward/],
    ["with a surrogate", 'root ::= "\\ud800"', /no character/],
    ["with a token", "root ::= <[5]>", /token references/],
    ["with an endless repetition count", `root ::= "a"{${"9".repeat(40)}}`, /expected/],
    ["that grows with its repetitions", 'root ::= ((("a"{100}){100}){100}){100}', /too large/],
    ["that repeats an empty text very often", 'root ::= ""{999999999}', /too large/],
    ["nested deep", `root ::= ${"(".repeat(100_000)}"a"${")".repeat(100_000)}`, /deeper/],
    ["with repetitions of repetitions", `root ::= "a"${"?".repeat(100_000)}`, /deeper|deep/],
    ["long", `root ::= "${"a".repeat(600_000)}"`, /longer/],
  ])("%s", (_, gbnf, message) => {
    expect(() => compileGbnf(gbnf)).toThrow(GbnfError);
    expect(() => compileGbnf(gbnf)).toThrow(message);
  });
});

test("a long chain of rules is read without recursion", () => {
  const rules = Array.from({ length: 3000 }, (_, i) => `r${i} ::= r${i + 1}`);
  expect(reader(`root ::= r0\n${rules.join("\n")}\nr3000 ::= "x"`)("x")).toBe(true);
});

test("bounds the ways to read a text whose number doubles with each character", () => {
  const automaton = new Automaton(compileGbnf('root ::= "a" root "x" | "a" root "y" | "b"'));
  let state = automaton.start;
  let length = 0;
  for (let next = automaton.step(state, 0x61); next !== null && length < 1000; next = automaton.step(state, 0x61)) {
    state = next;
    expect(state.ways.length).toBeLessThanOrEqual(4096);
    length++;
  }
  expect(length).toBeGreaterThan(5);
  expect(length).toBeLessThan(20);
  // The remaining ways can still be completed.
  expect(automaton.walk(state, Buffer.from(`b${"x".repeat(length)}`))?.complete).toBe(true);
});

test("stops exploring ever new states when its credit is used up, and continues after a token", () => {
  // Every letter opens its own bracket, in two ways: no two texts lead to the same state.
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const pairs = letters.map((letter) => `"${letter}" root "${letter}" | "${letter}" root "${letter.toUpperCase()}"`);
  const automaton = new Automaton(compileGbnf(`root ::= ${pairs.join(" | ")} | "."`));
  const pieces = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => Buffer.from(a + b + c))));
  const trie = new TokenTrie(pieces);
  const deep = automaton.walk(automaton.start, Buffer.from("abcd"))!;
  trie.allowed(automaton, deep);
  expect(automaton.exhausted).toBe(true);
  expect(automaton.step(deep, 0x2e)).toBeNull();
  // Exploring stopped as soon as the credit was used up, so that one token pays for the excess.
  automaton.pay();
  expect(automaton.exhausted).toBe(false);
  expect(automaton.step(deep, 0x2e)).not.toBeNull();
});
