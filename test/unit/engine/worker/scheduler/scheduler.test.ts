import { expect, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import { COSTS } from "../../../../../bench/scheduler/simulation-setup.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { LIMITS, left } from "./plan-rig.ts";

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
