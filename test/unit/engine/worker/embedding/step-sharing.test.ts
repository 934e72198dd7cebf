import { describe, expect, test } from "vitest";
import { StepSharing, type WorkClass } from "../../../../../engine/worker/embedding/step-sharing.ts";

const LIMITS = { itlMs: 50, batchTax: 0.1 };
const ALONE_MS = 25;

/** Steps and pieces of fixed costs, as long as there are both. @returns milliseconds of each, and the longest piece in a row */
function simulate(
  steps: WorkClass,
  pieces: WorkClass,
  costs: { stepMs: number; cheapestMs: number; slower?: number },
  rounds = 2000,
) {
  const sharing = new StepSharing(LIMITS);
  const spent = { steps: 0, pieces: 0, longestGapMs: 0 };
  let gap = 0;
  for (let i = 0; i < rounds; i++) {
    if (sharing.stepNext(steps, pieces)) {
      sharing.stepped(costs.stepMs, steps);
      spent.steps += costs.stepMs;
      gap = 0;
    }
    const ms = sharing.pieceMs(steps, pieces, costs.cheapestMs, ALONE_MS);
    if (ms === 0) continue;
    // A piece takes what it may, and one without a bound 100 ms.
    const took = Math.max(costs.cheapestMs, Math.min(ms, 100)) * (costs.slower ?? 1);
    sharing.pieced(took, pieces, steps);
    spent.pieces += took;
    gap += took;
    spent.longestGapMs = Math.max(spent.longestGapMs, gap);
  }
  return spent;
}

describe("beside online streams", () => {
  test.each([5, 20, 45, 80])(
    "after each step of %i ms an online batch fits the objective or takes a step's time",
    (stepMs) => {
      const { steps, longestGapMs } = simulate("online", "online", { stepMs, cheapestMs: 1 });
      expect(longestGapMs).toBeLessThanOrEqual(Math.max(stepMs, 50 - stepMs));
      expect(steps).toBe(2000 * stepMs);
    },
  );

  test.each([0.5, 4, 60])(
    "lower batches of at least %d ms take the saved tax, with a step between two",
    (cheapestMs) => {
      const { steps, pieces, longestGapMs } = simulate("online", "lower", { stepMs: 20, cheapestMs });
      expect(pieces / steps).toBeGreaterThan(0.09);
      expect(pieces / steps).toBeLessThanOrEqual(0.1);
      expect(longestGapMs).toBeLessThanOrEqual(Math.max(20, cheapestMs));
    },
  );

  test("batches that take three times their allowed time run a third as often", () => {
    const { steps, pieces } = simulate("online", "lower", { stepMs: 20, cheapestMs: 4, slower: 3 });
    expect(pieces / steps).toBeGreaterThan(0.09);
    expect(pieces / steps).toBeLessThanOrEqual(0.11);
  });

  test("a long time without embeddings saves no tax", () => {
    const sharing = new StepSharing(LIMITS);
    for (let i = 0; i < 1000; i++) {
      sharing.stepped(20, "online");
      sharing.pieceMs("online", "nothing", 0, ALONE_MS);
    }
    sharing.stepped(20, "online");
    expect(sharing.pieceMs("online", "lower", 5, ALONE_MS)).toBe(0);
  });
});

describe("without online streams", () => {
  test("an online batch has no bound, and lower steps take the tax on it", () => {
    const { steps, pieces } = simulate("lower", "online", { stepMs: 25, cheapestMs: 1 });
    expect(steps / pieces).toBeGreaterThan(0.08);
    expect(steps / pieces).toBeLessThanOrEqual(0.11);
  });

  test("steps and batches of lower tiers alternate, each within the time of a lower step", () => {
    const { steps, pieces } = simulate("lower", "lower", { stepMs: 25, cheapestMs: 1 });
    expect(pieces).toBe(steps);
  });

  test("lower batches alone are as short as lower steps, which bounds the wait of a new request", () => {
    expect(simulate("nothing", "lower", { stepMs: 0, cheapestMs: 1 }).pieces).toBe(2000 * ALONE_MS);
  });
});
