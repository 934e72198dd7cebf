import { expect, test } from "vitest";
import { WorkLoop } from "../../../engine/worker/work-loop.ts";

test("what comes while a turn that found nothing ends has a turn of its own", async () => {
  let turns = 0;
  const second = new Promise<void>((resolve) => {
    const loop = new WorkLoop({
      steps: {
        want: "nothing",
        flush: () => {},
        step: () => {
          if (++turns === 2) resolve();
          const found = Promise.resolve(false);
          // Runs before whoever awaits the answer goes on.
          if (turns === 1) void found.then(() => loop.wake());
          return found;
        },
      },
      embedder: null,
      limits: { itlMs: 50, batchTax: 0.1, ttftMs: 500, batchStepMs: null, mostStepMs: 1000 },
      now: () => 0,
    });
    void loop.run();
  });
  await second;
  expect(turns).toBe(2);
});
