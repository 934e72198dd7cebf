import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../../../../bench/base/random.ts";
import { median } from "../../../../../bench/base/statistics.ts";
import { gamma } from "../../../../../bench/suite/load/gamma.ts";
import { parseTrace, replay } from "../../../../../bench/suite/load/trace-file.ts";
import { chatTraffic, scaled } from "../../../../../bench/suite/load/traffic.ts";

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function variance(values: number[]): number {
  const center = mean(values);
  return mean(values.map((value) => (value - center) ** 2));
}

function expectNear(value: number, wanted: number, share: number): void {
  expect(Math.abs(value / wanted - 1)).toBeLessThan(share);
}

test.each([0.3, 0.835, 1, 4])("gamma of shape %d has mean 1 and variance 1 / shape", (shape) => {
  const random = new Random(7);
  const values = Array.from({ length: 40_000 }, () => gamma(shape, random));
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  expectNear(mean(values), 1, 0.03);
  expectNear(variance(values), 1 / shape, 0.1);
});

test("chat traffic has the given rate and the trace's lengths", () => {
  const arrivals = chatTraffic().draw(10, 3000, new Random(3));
  expectNear(arrivals.length, 30_000, 0.03);
  const [prompts, tokens] = [arrivals.map(({ prompt }) => prompt), arrivals.map((arrival) => arrival.tokens)];
  // the trace itself: means 1,154.7 and 211.1, medians 1,020 and 129, and 1.094 between the arrivals
  expectNear(mean(prompts), 1154.7, 0.05);
  expectNear(mean(tokens), 211.1, 0.05);
  expectNear(median(prompts), 1020, 0.03);
  expectNear(median(tokens), 129, 0.03);
  const gaps = arrivals.slice(1).map(({ atMs }, i) => atMs - arrivals[i]!.atMs);
  expectNear(Math.sqrt(variance(gaps)) / mean(gaps), 1.094, 0.03);
});

test("the same seed gives the same arrivals", () => {
  const draw = (seed: number) => chatTraffic().draw(5, 20, new Random(seed));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
});

test("scaled lengths fit the context, have two output tokens and keep their times", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: 8, max: 4096 }),
      fc.nat(),
      (divisor, context, seed) => {
        const plain = chatTraffic().draw(20, 2, new Random(seed));
        const small = scaled(chatTraffic(), divisor, context).draw(20, 2, new Random(seed));
        expect(small.map(({ atMs }) => atMs)).toEqual(plain.map(({ atMs }) => atMs));
        for (const { prompt, tokens } of small) {
          expect(prompt).toBeGreaterThanOrEqual(1);
          expect(tokens).toBeGreaterThanOrEqual(2);
          expect(prompt + tokens).toBeLessThanOrEqual(context);
        }
      },
    ),
  );
});

const TRACE = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
2023-11-16 18:15:51.3910170,91,16
`;

test("a trace is parsed with fractions of milliseconds, sorted, from 0", () => {
  const [first, second, third] = parseTrace(TRACE);
  expect(first).toEqual({ atMs: 0, prompt: 374, tokens: 44 });
  expect(second!.atMs).toBeCloseTo(4314.579, 3);
  expect(third).toMatchObject({ prompt: 879, tokens: 55 });
  const swapped = "GeneratedTokens,TIMESTAMP,ContextTokens\n5,2023-11-16 18:00:02,7\n6,2023-11-16 18:00:01,8\n";
  expect(parseTrace(swapped)).toEqual([
    { atMs: 0, prompt: 8, tokens: 6 },
    { atMs: 1000, prompt: 7, tokens: 5 },
  ]);
});

test("an invalid trace is rejected with its line number", () => {
  expect(() => parseTrace(`${TRACE}yesterday,1,2\n`)).toThrow("line 6");
  expect(() => parseTrace("a,b\n1,2\n")).toThrow("TIMESTAMP");
});

test("a replay is a section of the trace with the given length", () => {
  const trace = Array.from({ length: 500 }, (_, i) => ({ atMs: i ** 1.5, prompt: i, tokens: 2 }));
  const drawn = replay(trace)(10, 20, new Random(4));
  expect(drawn).toHaveLength(200);
  expect(drawn.map(({ prompt }) => prompt - drawn[0]!.prompt)).toEqual([...drawn.keys()]);
  expect(drawn[0]!.atMs).toBe(0);
  expect(drawn.at(-1)!.atMs).toBeLessThan(20_000);
  expect(() => replay(trace)(100, 20, new Random(4))).toThrow("500");
});
