import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineOrder } from "../../../../batch/validation/line-order.ts";
import { KEY_LENGTH } from "../../../../batch/validation/prefix-key.ts";

interface Line {
  key: number[];
  tokens: number;
}

function order(lines: readonly Line[]): Line[] {
  const prefixes = new Uint32Array(lines.length * KEY_LENGTH);
  lines.forEach(({ key }, row) => void prefixes.set(key, row * KEY_LENGTH));
  const rows = lineOrder(
    prefixes,
    Uint32Array.from(lines, ({ tokens }) => tokens),
    lines.length,
  );
  return Array.from(rows, (row) => lines[row]!);
}

/** The number of runs of lines with their first `depth` numbers in common. */
function runs(lines: readonly Line[], depth: number): number {
  const beginnings = lines.map(({ key }) => key.slice(0, depth).join());
  return beginnings.filter((beginning, i) => beginning !== beginnings[i - 1]).length;
}

it("runs each line once and each common prefix in one run, for all lengths", () => {
  const line = fc.record({
    key: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: KEY_LENGTH }),
    tokens: fc.nat({ max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
      const ordered = order(lines);
      expect(new Set(ordered)).toEqual(new Set(lines));
      expect(ordered).toHaveLength(lines.length);
      for (let depth = 1; depth <= KEY_LENGTH; depth++) {
        const beginnings = new Set(lines.map(({ key }) => key.slice(0, depth).join()));
        expect(runs(ordered, depth)).toBe(beginnings.size);
      }
    }),
  );
});

it("runs lines of one length in the order of their keys, and equal lines in file order", () => {
  const lines = [3, 1, 2, 1].map((key) => ({ key: [key], tokens: 7 }));
  expect(order(lines)).toEqual([lines[1], lines[3], lines[2], lines[0]]);
});

it("starts long lines early also behind a long common prefix", () => {
  const lines = Array.from({ length: 100 }, (_, i) => ({ key: [5, i + 1], tokens: i % 10 === 9 ? 1000 : 20 }));
  const places = order(lines).flatMap(({ tokens }, place) => (tokens === 1000 ? [place] : []));
  expect(Math.max(...places)).toBeLessThan(25);
  // With others between them.
  expect(Math.max(...places)).toBeGreaterThan(10);
});

/** Equal seeds, equal numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
}

/** The time to the end of the last line, relative to an engine that is always full, with 32 sequences. */
function overIdeal(lines: readonly Line[]): number {
  const free = new Array<number>(32).fill(0);
  for (const { tokens } of lines) {
    const next = free.indexOf(Math.min(...free));
    free[next]! += tokens;
  }
  const longest = Math.max(...lines.map(({ tokens }) => tokens));
  const work = lines.reduce((sum, { tokens }) => sum + tokens, 0);
  return Math.max(...free) / Math.max(work / 32, longest);
}

describe("the engine stays full to the end", () => {
  const mixes = {
    "one long line in ten": (next: () => number) => (next() < 0.1 ? 1000 : 20),
    "many short, few very long": (next: () => number) => Math.round(10 + 4000 * next() ** 8),
    "all alike": (next: () => number) => Math.round(50 + 100 * next()),
  };
  const sizes = [200, 1000, 5000];

  it.each(Object.entries(mixes).flatMap(([name, mix]) => sizes.map((size) => [name, size, mix] as const)))(
    "%s, %d lines: ends no later than by key order, and within a tenth of the ideal",
    (_, size, mix) => {
      const next = random(size);
      const lines = Array.from({ length: size }, (_, i) => ({ key: [i + 1], tokens: mix(next) }));
      expect(overIdeal(order(lines))).toBeLessThanOrEqual(overIdeal(lines));
      expect(overIdeal(order(lines))).toBeLessThan(1.1);
    },
  );
});
