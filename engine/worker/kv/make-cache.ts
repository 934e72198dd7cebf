import type { Context } from "../native/context.ts";
import type { MemoryPlan } from "../native/memory-plan.ts";
import type { Reuse } from "./cached-sequence.ts";
import type { HostMemory } from "./host-memory.ts";
import type { KvCache } from "./kv-cache.ts";
import { SplitCache } from "./split-cache.ts";
import { UnifiedCache } from "./unified-cache.ts";

/** Bytes per prompt token that a copy may move at most: a larger copy costs as much as computing the token again. */
const COPY_BYTES_PER_TOKEN = 2 * 1024 * 1024;

/** Makes the cache of the planned kind over a context's memory. */
export function makeCache(
  context: Context,
  host: HostMemory,
  plan: MemoryPlan,
  cellBytes: number,
  { reuse, reserved, reservedCells }: { reuse: Reuse; reserved: number; reservedCells: number },
): KvCache {
  if (plan.kv === "unified") {
    return new UnifiedCache(context.memory, host, { ids: plan.ids, cells: plan.cells, reserved: reservedCells, reuse });
  }
  const capacity = context.sequenceCells;
  const copyPrice = Math.ceil((capacity * cellBytes) / COPY_BYTES_PER_TOKEN);
  return new SplitCache(context.memory, host, { ids: plan.ids, capacity, copyPrice, reserved, reuse });
}
