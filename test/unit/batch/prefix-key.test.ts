import fc from "fast-check";
import { expect, it } from "vitest";
import { PrefixKey } from "../../../batch/prefix-key.ts";

function keyOf(...parts: string[]): string {
  const key = new PrefixKey();
  for (const part of parts) key.add(part);
  return key.key;
}

it("is the same however the text comes", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 300 }), { maxLength: 40 }), (parts) => {
      expect(keyOf(...parts)).toBe(keyOf(parts.join("")));
    }),
  );
});

it("begins alike for texts that begin alike, and not for others", () => {
  const system = "You answer in one word. ".repeat(100);
  const shared = (a: string, b: string) => {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at++;
    return at;
  };
  const [first, second, other] = [keyOf(system, "What is 1 + 1?"), keyOf(system, "Where?"), keyOf("Another", system)];
  // 2,400 characters in common: six of the branches.
  expect(shared(first, second)).toBeGreaterThanOrEqual(42);
  expect(shared(first, other)).toBeLessThan(7);
});

it("sorts a mixture so that each shared beginning is one run", () => {
  const beginnings = Array.from({ length: 20 }, (_, i) => `${i} `.repeat(200));
  const texts = Array.from({ length: 200 }, (_, i) => ({ of: i % 20, key: keyOf(`${beginnings[i % 20]}${i}`) }));
  const order = texts.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ of }) => of);
  expect(order.filter((of, i) => of !== order[i - 1])).toHaveLength(20);
});
