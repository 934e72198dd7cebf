import { expect, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import { COSTS } from "../../../../../bench/scheduler/simulation-setup.ts";
import type { StepShape } from "../../../../../engine/worker/cost/step-model.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { LIMITS, left, UNBOUNDED } from "./plan-rig.ts";

test("an inconsistent sequence ends planning with an invariant error instead of a loop", () => {
  const memory = new FakeMemory({ kind: "unified", ids: 4, cells: 100 });
  const cache = new UnifiedCache(memory, hostMemory(0), { ids: 4, cells: 100, reserved: 0, reuse: "parts" });
  const scheduler = new Scheduler<Sequence>(cache, { ...LIMITS, sequences: 4, reserved: 0, reuse: "parts" }, COSTS);
  const sequence: Sequence = { ...left(10), id: -1, computed: 0 };
  scheduler.add(sequence);
  expect(scheduler.schedule().entries).toHaveLength(1);
  sequence.state = "waiting";
  expect(() => scheduler.schedule()).toThrow("Scheduler invariant");
});

test.each(["flex", "batch"] as const)(
  "a scored %s prompt has at most 32 tokens in a step where a tile has 64",
  (tier) => {
    const cells = 4096;
    const memory = new FakeMemory({ kind: "unified", ids: 4, cells });
    const cache = new UnifiedCache(memory, hostMemory(0), { ids: 4, cells, reserved: 0, reuse: "parts" });
    const predict = ({ prefill, decode, read }: StepShape) => 10 + 0.05 * prefill + decode + 0.0002 * read;
    const costs = { predict, reach: UNBOUNDED, tile: { rows: 64, below: 10 } };
    const limits = { ...LIMITS, sequences: 4, reserved: 0, reuse: "parts" as const };
    const scheduler = new Scheduler<Sequence>(cache, limits, costs);
    const tokens = Array.from({ length: 3000 }, (_, i) => i);
    scheduler.add({ ...left(1), id: -1, tier, tokens, computed: 0, state: "waiting", scored: true });
    const counts = new Set<number>();
    for (let i = 0; i < 40; i++)
      for (const { sequence, count } of scheduler.schedule().entries) {
        counts.add(count);
        sequence.computed += count;
      }
    expect(counts.size).toBeGreaterThan(0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(32);
    expect(scheduler.forced).toBe(0);
  },
);
