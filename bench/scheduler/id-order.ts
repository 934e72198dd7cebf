import assert from "node:assert/strict";
import { isDecode } from "../../engine/worker/scheduler/scheduled-sequence.ts";
import type { PlanEntry } from "../../engine/worker/scheduler/step-draft.ts";
import { isOnline } from "../../engine/worker/scheduler/tiers.ts";
import type { SimulatedSequence } from "./simulated-sequence.ts";

/**
 * Checks that a split cache computes the decodes of a step in as few passes as it can: llama.cpp takes ascending consecutive
 * ids in one pass. One decode alone is in order at any id.
 *
 * @throws AssertionError
 */
export function checkIdOrder(
  entries: readonly PlanEntry<SimulatedSequence>[],
  running: readonly SimulatedSequence[],
  ids: number,
): void {
  // A sequence that is not ready has its id all the same, and interrupts the run of those beside it.
  if (!running.every((sequence) => sequence.ready())) return;
  const decodes = entries.map(({ sequence }) => sequence).filter(isDecode);
  const streams = decodes.filter(isOnline);
  const lower = decodes.filter((sequence) => !isOnline(sequence));
  if (streams.length > 1 && running.length < ids) assert.deepEqual(idsOf(streams), range(0, streams.length));
  if (lower.length === 0 || streams.length + lower.length < 2 || running.length === ids) return;
  if (streams.length > 0) {
    assert.deepEqual(idsOf(lower), range(running.filter(isOnline).length, lower.length));
    return;
  }
  // Without streams, decodes of lower tiers are side by side, except for others that run between them.
  const taken = new Set(running.map(({ id }) => id));
  const isBesides = idsOf(lower).some((_, i, all) =>
    [...all.keys()].some((back) => range(all[i]! - back, all.length).every((id) => taken.has(id))),
  );
  assert.ok(isBesides);
}

function idsOf(sequences: readonly SimulatedSequence[]): number[] {
  return sequences.map(({ id }) => id).sort((a, b) => a - b);
}

function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}
