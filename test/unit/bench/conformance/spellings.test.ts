import { expect, test } from "vitest";
import { spellings } from "../../../../bench/conformance/spellings.ts";

test("a value is spelled with the members of its objects in every order", () => {
  expect(spellings({ a: 1, b: [{ c: 2, d: "x" }] })).toEqual([
    '{"a":1,"b":[{"c":2,"d":"x"}]}',
    '{"a":1,"b":[{"d":"x","c":2}]}',
    '{"b":[{"c":2,"d":"x"}],"a":1}',
    '{"b":[{"d":"x","c":2}],"a":1}',
  ]);
});

test("an object of many members has a bounded number of spellings", () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`n${i}`, { a: 1, b: 2 }]));
  expect(spellings(many)).toHaveLength(120);
});
