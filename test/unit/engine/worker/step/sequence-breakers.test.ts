import { expect, test } from "vitest";
import { BreakerLists, SequenceBreakers } from "../../../../../engine/worker/step/sequence-breakers.ts";
import { LETTER_VOCABULARY, PIECES } from "./letter-vocabulary.ts";

const ids = (...pieces: (typeof PIECES)[number][]) => pieces.map((piece) => PIECES.indexOf(piece));
const limit = (texts: string[], ...pieces: (typeof PIECES)[number][]) =>
  new SequenceBreakers(texts, LETTER_VOCABULARY).limit(ids(...pieces), 0);

test.each<[string, string[], (typeof PIECES)[number][], number]>([
  ["no breaker", ["x"], ["a", "b", "c"], 3],
  ["no breakers at all", [], ["a", "b", "c"], 3],
  ["a token that is a breaker", ["\n"], ["a", "\n", "b", "c"], 2],
  ["a token that contains one", ["b"], ["c", "abc", "a"], 1],
  ["the last of several", ["\n", "b"], ["\n", "b", "a", "c"], 2],
  ["one at the end", ["c"], ["a", "b", "c"], 0],
  ["one of several tokens", ["abc"], ["c", "a", "b", "c", "a"], 1],
  ["one that begins within a token", ["abca"], ["b", "ab", "c", "a", "b"], 1],
  ["the beginning of one without its rest", ["abca"], ["b", "ab", "c", "b"], 4],
  ["the beginning of one at the end", ["abca"], ["b", "ab", "c"], 3],
])("%s", (_, texts, pieces, expected) => {
  expect(limit(texts, ...pieces)).toBe(expected);
});

test("tokens before the window are not looked at", () => {
  expect(new SequenceBreakers(["a"], LETTER_VOCABULARY).limit(ids("a", "b", "c"), 1)).toBe(2);
});

test("a token contains a breaker only where its own text does", () => {
  const breakers = new SequenceBreakers(["bc"], LETTER_VOCABULARY);
  expect(PIECES.filter((_, token) => breakers.contains(token))).toEqual(["bc", "abc"]);
});

test("a breaker of half a character is compared by its bytes", () => {
  const halves = [Buffer.from([0xc3]), Buffer.from([0xa9]), Buffer.from("é"), Buffer.from("è")];
  const vocabulary = {
    alone: (token: number) => halves[token]!,
    tokenizeNow: (text: Uint8Array) => Int32Array.of(halves.findIndex((half) => half.equals(text))),
  };
  const breakers = new SequenceBreakers(["é"], vocabulary);
  expect([...[0, 1, 2, 3].keys()].map((token) => breakers.tails(token).map((tail) => [...tail]))).toEqual([
    [[1]],
    [],
    [[]],
    [],
  ]);
});

test("the lists of recent requests are kept, and the oldest are dropped", () => {
  const lists = new BreakerLists(LETTER_VOCABULARY);
  const first = lists.of(["a"]);
  expect(lists.of(["a"])).toBe(first);
  for (let i = 0; i < 8; i++) lists.of([`b${i}`]);
  expect(lists.of(["a"])).not.toBe(first);
});
