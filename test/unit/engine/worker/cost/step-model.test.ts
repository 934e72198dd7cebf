import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Fit, StepModel, type StepShape } from "../../../../../engine/worker/cost/step-model.ts";

/** Seeded, uniform in [0, 1). */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Steps of a busy engine: pure decodes, every third one with a chunk, and every ninth a chunk alone. */
function busyStep(draw: () => number, i: number): StepShape {
  const decode = i % 9 === 0 ? 0 : 1 + Math.floor(32 * draw());
  const prefill = i % 3 === 0 ? 16 + Math.floor(500 * draw()) : 0;
  const passes = prefill > 0 && decode > 0 ? 2 : 1;
  const depth = 2000 * draw();
  return { prefill, decode, kv: Math.floor(decode * depth), read: Math.floor(prefill * depth), passes };
}

function cost({ o, p, d, k, r, m }: Fit, { prefill, decode, kv, read, passes }: StepShape): number {
  return o + p * prefill + d * decode + k * kv + r * read + m * (passes - 1);
}

/** Median relative error over shapes that it did not observe. */
function miss(model: StepModel, truth: Fit, seed = 99): number {
  const draw = random(seed);
  const errors = Array.from({ length: 101 }, (_, i) => {
    const shape = busyStep(draw, i);
    return Math.abs(model.predict(shape) - cost(truth, shape)) / cost(truth, shape);
  });
  return errors.sort((a, b) => a - b)[50]!;
}

const magnitude = (low: number, high: number) =>
  fc.double({ min: Math.log(low), max: Math.log(high), noNaN: true }).map(Math.exp);
const fit: fc.Arbitrary<Fit> = fc.record({
  o: magnitude(0.2, 100),
  p: magnitude(0.005, 10),
  d: magnitude(0.01, 20),
  k: fc.oneof(fc.constant(0), magnitude(1e-7, 1e-4)),
  r: fc.oneof(fc.constant(0), magnitude(1e-7, 1e-4)),
  m: fc.oneof(fc.constant(0), magnitude(0.1, 50)),
});

test("is settled after enough decodes, with any number of prompts", () => {
  const model = new StepModel();
  for (let i = 0; i < 40; i++) model.observe({ prefill: 10, decode: 1, kv: 100, read: 0, passes: 2 }, 5);
  for (let i = 0; i < 15; i++) model.observe({ prefill: 0, decode: 1, kv: 100, read: 0, passes: 1 }, 5);
  expect(model.settled).toBe(false);
  model.observe({ prefill: 0, decode: 1, kv: 100, read: 0, passes: 1 }, 5);
  expect(model.settled).toBe(true);
  expect(model.steps).toEqual({ prefill: 40, decode: 16 });
});

describe("the step model learns", () => {
  test("the costs of any machine within tens of steps, under noise", () => {
    fc.assert(
      fc.property(fit, fc.nat(), (truth, seed) => {
        const model = new StepModel();
        const draw = random(seed);
        for (let i = 0; i < 60; i++) {
          const shape = busyStep(draw, i);
          model.observe(shape, cost(truth, shape) * (0.95 + 0.1 * draw()));
        }
        expect(miss(model, truth)).toBeLessThan(0.08);
      }),
      { numRuns: 200 },
    );
  });

  test("the coefficients themselves, from steps without noise", () => {
    const truth: Fit = { o: 4, p: 0.25, d: 0.6, k: 0.00002, r: 0.00002, m: 2 };
    const model = new StepModel();
    const draw = random(3);
    for (let i = 0; i < 300; i++) {
      const shape = busyStep(draw, i);
      model.observe(shape, cost(truth, shape));
    }
    for (const name of ["o", "p", "d", "k", "m"] as const)
      expect(Math.abs(model.fit[name] / truth[name] - 1)).toBeLessThan(0.02);
  });

  test("predictions hardly change when one step in thirty is up to fifty times slower", () => {
    fc.assert(
      fc.property(fit, fc.nat(), (truth, seed) => {
        const model = new StepModel();
        const draw = random(seed);
        for (let i = 0; i < 400; i++) {
          const shape = busyStep(draw, i);
          const outlier = i > 60 && i % 30 === 0 ? 5 + 45 * draw() : 1;
          model.observe(shape, cost(truth, shape) * (0.95 + 0.1 * draw()) * outlier);
        }
        expect(miss(model, truth)).toBeLessThan(0.1);
      }),
      { numRuns: 100 },
    );
  });

  test.each([0.1, 0.5, 2, 10])("a machine that becomes %f × as slow", (factor) => {
    const truth: Fit = { o: 4, p: 0.25, d: 0.6, k: 0.00002, r: 0.00002, m: 2 };
    const slow: Fit = { o: 4 * factor, p: 0.25 * factor, d: 0.6 * factor, k: 0.00002 * factor, r: 0, m: 2 * factor };
    const model = new StepModel();
    const draw = random(5);
    for (let i = 0; i < 500; i++) {
      const shape = busyStep(draw, i);
      model.observe(shape, cost(i < 300 ? truth : slow, shape) * (0.95 + 0.1 * draw()));
    }
    expect(miss(model, slow)).toBeLessThan(0.12);
  });

  test("an hour of pure decodes does not change the cost of prefill", () => {
    const truth: Fit = { o: 4, p: 0.25, d: 0.6, k: 0.00002, r: 0.00002, m: 2 };
    const model = new StepModel();
    const draw = random(7);
    for (let i = 0; i < 100; i++) {
      const shape = busyStep(draw, i);
      model.observe(shape, cost(truth, shape));
    }
    for (let i = 0; i < 20_000; i++) {
      const shape = { prefill: 0, decode: 8, kv: 8 * (100 + (i % 1000)), read: 0, passes: 1 };
      model.observe(shape, cost(truth, shape) * (0.95 + 0.1 * draw()));
    }
    expect(miss(model, truth)).toBeLessThan(0.1);
  });
});

describe("with few measurements", () => {
  test("a chunk is predicted to be expensive, and the reach is short", () => {
    const model = new StepModel();
    expect(model.predict({ prefill: 32, decode: 1, kv: 500, read: 0, passes: 2 })).toBeGreaterThan(50);
    expect(model.reach).toEqual({ prefill: 32, decode: 4 });
    model.observe({ prefill: 32, decode: 6, kv: 500, read: 0, passes: 2 }, 3);
    expect(model.reach).toEqual({ prefill: 64, decode: 12 });
    expect(model.error.samples).toBe(1);
  });

  test("the errors of the latest steps are reported", () => {
    const model = new StepModel();
    expect(model.error).toEqual({ samples: 0, median: 0, mean: 0 });
    for (let i = 0; i < 1000; i++)
      model.observe({ prefill: 0, decode: 8, kv: 0, read: 0, passes: 1 }, i === 990 ? 100 : 10);
    expect(model.error.samples).toBe(1000);
    expect(model.error.median).toBeLessThan(0.01);
    expect(model.error.mean).toBeLessThan(0.05);
  });
});

test("predictions are finite and not negative for any measurement", () => {
  const shape = fc.record({
    prefill: fc.nat({ max: 16_384 }),
    decode: fc.nat({ max: 256 }),
    kv: fc.nat({ max: 2 ** 31 - 1 }),
    read: fc.nat({ max: 2 ** 31 - 1 }),
    passes: fc.integer({ min: 1, max: 256 }),
  });
  const ms = fc.oneof(magnitude(1e-4, 1e6), fc.double());
  fc.assert(
    fc.property(fc.array(fc.tuple(shape, ms), { maxLength: 60 }), fc.array(shape, { minLength: 1 }), (steps, asked) => {
      const model = new StepModel();
      for (const [step, time] of steps) model.observe(step, time);
      for (const each of asked) {
        const predicted = model.predict(each);
        expect(Number.isFinite(predicted) && predicted >= 0).toBe(true);
      }
      for (const value of Object.values(model.fit)) expect(value).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 500 },
  );
});
