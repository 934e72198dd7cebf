import { SHORT_ROWS, TILE_ROWS } from "./kernels.ts";
import type { FlashSetting, ProbeShape, Sample } from "./sample.ts";

/** What times one step; null where it can't be had. */
export interface StepTimer {
  time(shape: ProbeShape): Promise<number | null>;
}

export interface MeasureOptions {
  /** Positions of the deep steps; 0 where there is no memory for any. */
  depth: number;
  /** Sequences that the contexts have room for. */
  sequences: number;
  /** All of it takes at most so long, and one step more. */
  budgetMs: number;
  now: () => number;
}

/** Rounds over all shapes; of each shape the fastest step counts. */
const ROUNDS = 3;
/** A first step that takes more of the budget than this share leaves time for nothing that would tell more. */
const SLOW_SHARE = 1 / 4;
const FIRST: ProbeShape = { rows: 1, sequences: 1, depth: 0 };

/**
 * Times steps under each setting, by turns, so that drift of the machine falls on all alike. In the order of what they
 * tell: what decodes cost, then chunks; a shape that would not end within the budget is left out.
 */
export async function measureSteps(
  timers: ReadonlyMap<FlashSetting, StepTimer>,
  { depth, sequences, budgetMs, now }: MeasureOptions,
): Promise<Sample[]> {
  const begin = now();
  const left = () => budgetMs - (now() - begin);
  const best = new Map<string, Sample>();
  // The first step of a context reserves memory and reads weights that no one has touched.
  for (const timer of timers.values()) {
    const warming = await timer.time(FIRST);
    if (warming === null || left() < budgetMs * (1 - SLOW_SHARE)) return [];
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const shape of shapesFor(depth, sequences)) {
      for (const [flash, timer] of timers) {
        if (expectedMs(best.values(), flash, shape) > left()) continue;
        const ms = await timer.time(shape);
        if (ms === null) continue;
        const key = JSON.stringify([flash, shape]);
        const before = best.get(key)?.ms ?? Number.POSITIVE_INFINITY;
        best.set(key, { flash, ...shape, ms: Math.min(before, ms) });
      }
    }
  }
  return [...best.values()];
}

function shapesFor(depth: number, sequences: number): ProbeShape[] {
  const shapes: ProbeShape[] = [
    FIRST,
    { rows: 1, sequences: 1, depth },
    { rows: SHORT_ROWS, sequences: 1, depth },
    { rows: TILE_ROWS, sequences: 1, depth },
    { rows: TILE_ROWS, sequences: 1, depth: 0 },
    { rows: SHORT_ROWS, sequences: 1, depth: 0 },
    { rows: 1, sequences, depth },
    { rows: 1, sequences, depth: 0 },
    { rows: 2 * TILE_ROWS, sequences: 1, depth: 0 },
  ];
  const seen = new Set<string>();
  return shapes.filter((shape) => {
    const key = JSON.stringify(shape);
    return !seen.has(key) && seen.add(key);
  });
}

/** At most, by the step with the most tokens that was timed: in a longer one a token costs no more, but for its depth. */
function expectedMs(samples: Iterable<Sample>, flash: FlashSetting, { rows, sequences, depth }: ProbeShape): number {
  const tokens = rows * sequences;
  let most: Sample | null = null;
  for (const sample of samples) {
    if (sample.flash !== flash || sample.depth < depth) continue;
    if (most === null || sample.rows * sample.sequences > most.rows * most.sequences) most = sample;
  }
  return most === null ? 0 : most.ms * Math.max(1, tokens / (most.rows * most.sequences));
}
