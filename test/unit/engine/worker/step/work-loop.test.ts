import { expect, test } from "vitest";
import { WorkLoop } from "../../../../../engine/worker/step/work-loop.ts";

const LIMITS = { itlMs: 50, batchTax: 0.1, ttftMs: 500, batchStepMs: null, mostStepMs: 1000 };

test("work that arrives while an empty iteration ends is done in the next one", async () => {
  let iterations = 0;
  const second = new Promise<void>((resolve) => {
    const loop = new WorkLoop({
      steps: {
        workClass: "nothing",
        flush: () => {},
        step: () => {
          if (++iterations === 2) resolve();
          const found = Promise.resolve(false);
          // Runs before the loop, which awaits the answer, continues.
          if (iterations === 1) void found.then(() => loop.wake());
          return found;
        },
      },
      embedder: null,
      limits: LIMITS,
      now: () => 0,
    });
    void loop.run();
  });
  await second;
  expect(iterations).toBe(2);
});

test("an embedding batch gets at most the time of a step", async () => {
  const given: number[] = [];
  await new Promise<void>((resolve) => {
    const embedder = {
      workClass: "online" as const,
      cheapestMs: 5000,
      piece: (ms: number) => {
        given.push(ms);
        if (given.length === 4) resolve();
        return given.length < 4 ? Promise.resolve(1) : new Promise<number>(() => {});
      },
    };
    const steps = { workClass: "online" as const, flush: () => {}, step: () => Promise.resolve(given.length < 2) };
    void new WorkLoop({ steps, embedder, limits: LIMITS, now: () => 0 }).run();
  });
  expect(given).toEqual([1000, 1000, 1000, 1000]);
});

test("afterIteration calls back after the current step, or at once without one", async () => {
  const order: string[] = [];
  let end = (_: boolean) => {};
  let began = () => {};
  const computing = new Promise<void>((resolve) => {
    began = resolve;
  });
  let steps = 0;
  const loop = new WorkLoop({
    steps: {
      workClass: "nothing",
      flush: () => {},
      step: () => {
        if (++steps > 1) return Promise.resolve(false);
        began();
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    },
    embedder: null,
    limits: LIMITS,
    now: () => 0,
  });
  void loop.run();
  await computing;
  const first = new Promise<void>((resolve) => {
    loop.afterIteration(() => {
      order.push("called");
      resolve();
    });
  });
  await new Promise(setImmediate);
  order.push("step ends");
  end(true);
  await first;
  expect(order).toEqual(["step ends", "called"]);
  await new Promise<void>((resolve) => loop.afterIteration(resolve));
});
