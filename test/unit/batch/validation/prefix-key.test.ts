import fc from "fast-check";
import { expect, it } from "vitest";
import { PrefixKey } from "../../../../batch/validation/prefix-key.ts";

function keyOf(...parts: string[]): readonly number[] {
  const key = new PrefixKey();
  for (const part of parts) key.add(part);
  return key.key;
}

it("is the same for every division of the text", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 300 }), { maxLength: 40 }), (parts) => {
      expect(keyOf(...parts)).toEqual(keyOf(parts.join("")));
    }),
  );
});

it("has a common prefix exactly for texts with a common prefix", () => {
  const system = "You answer in one word. ".repeat(100);
  const shared = (a: readonly number[], b: readonly number[]) => {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at++;
    return at;
  };
  const [first, second, other] = [keyOf(system, "What is 1 + 1?"), keyOf(system, "Where?"), keyOf("Another", system)];
  // 2,300 characters in common: six of the branches.
  expect(shared(first, second)).toBe(6);
  expect(shared(first, other)).toBe(0);
});

it("has one number per branch, at most eight", () => {
  expect([0, 63, 64, 65, 128, 4096, 8191, 8192, 20_000].map((length) => keyOf("x".repeat(length)).length)).toEqual([
    1, 1, 2, 2, 3, 8, 8, 8, 8,
  ]);
});
