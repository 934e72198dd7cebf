import fc from "fast-check";
import { expect, it } from "vitest";
import { LineIndex } from "../../../../batch/validation/line-index.ts";
import { PrefixKey } from "../../../../batch/validation/prefix-key.ts";

interface Ordered {
  number: number;
  customId: string;
  position: number;
}

function ordered(prompts: readonly string[], size: number): Ordered[] {
  const index = new LineIndex(prompts.length);
  prompts.forEach((prompt, i) => {
    const key = new PrefixKey();
    key.add(prompt);
    const [number, offset] = [2 * i + 1, 1000 * i];
    const tokens = { estimatedTokens: 1, promptTokens: 1, choices: 0, maxTokens: null };
    index.add({ number, customId: `id ${i}`, offset, length: 999, prefix: key.key, ...tokens });
  });
  return [...index.chunks(size)].flatMap(({ numbers, customIds, positions }) =>
    customIds.map((customId, i) => ({ number: numbers[i]!, customId, position: positions[i]! })),
  );
}

const byPosition = (a: Ordered, b: Ordered) => a.position - b.position;

it("gives each line one position for every chunk size, and keeps equal prompts in file order", () => {
  const prompts = fc.array(fc.constantFrom("", "a", "b", "a".repeat(64), "a".repeat(70), "b".repeat(9000)));
  fc.assert(
    fc.property(prompts, fc.integer({ min: 1, max: 7 }), (texts, size) => {
      const lines = ordered(texts, size);
      expect(lines.map(({ customId }) => customId)).toEqual(texts.map((_, i) => `id ${i}`));
      expect(lines.map(({ number }) => number)).toEqual(texts.map((_, i) => 2 * i + 1));
      const sorted = lines.toSorted(byPosition);
      expect(sorted.map(({ position }) => position)).toEqual(texts.map((_, i) => i + 1));
      for (const text of texts) {
        const equal = sorted.filter(({ number }) => texts[(number - 1) / 2] === text).map(({ number }) => number);
        expect(equal).toEqual(equal.toSorted((a, b) => a - b));
      }
    }),
  );
});

it("puts the lines of each common prefix, also of nested ones, in one run", () => {
  const prompts = Array.from({ length: 400 }, (_, i) => `${`${i % 4} `.repeat(200)}${`${i % 20} `.repeat(400)}${i}`);
  const order = ordered(prompts, 100)
    .sort(byPosition)
    .map(({ number }) => (number - 1) / 2);
  for (const groups of [4, 20]) {
    const runs = order.filter((i, place) => place === 0 || i % groups !== order[place - 1]! % groups);
    expect(runs).toHaveLength(groups);
  }
});
