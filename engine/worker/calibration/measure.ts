import { SHORT_ROWS, TILE_ROWS } from "./kernels.ts";
import type { FlashSetting, ProbeShape, Sample } from "./sample.ts";

/** Times one step; null where the shape is not possible. */
export interface StepTimer {
  time(shape: ProbeShape): Promise<number | null>;
}

export interface MeasureOptions {
  /** Positions of the deep steps; 0 without memory for them. */
  depth: number;
  /** Sequences per context. */
  sequences: number;
  /** Most milliseconds of the whole measurement, except for one more step. */
  budgetMs: number;
  now: () => number;
}

/** Rounds over all shapes; the fastest step of each shape counts. */
const ROUNDS = 3;
/** The share of the budget above which the first step leaves no time for a useful measurement. */
const SLOW_SHARE = 1 / 4;
const FIRST: ProbeShape = { rows: 1, sequences: 1, depth: 0 };

/**
 * Times steps under each setting alternately, so that drift of the machine affects all alike. Decodes are timed first, then
 * chunks; a shape that would not end within the budget is left out.
 */
export async function measureSteps(
  timers: ReadonlyMap<FlashSetting, StepTimer>,
  { depth, sequences, budgetMs, now }: MeasureOptions,
): Promise<Sample[]> {
  const begin = now();
  const left = () => budgetMs - (now() - begin);
  const best = new Map<string, Sample>();
  // The first step of a context allocates memory and reads the weights for the first time.
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

/** An upper bound from the timed step with the most tokens: at the same depth, a token of a longer step costs no more. */
function expectedMs(samples: Iterable<Sample>, flash: FlashSetting, { rows, sequences, depth }: ProbeShape): number {
  const tokens = rows * sequences;
  let most: Sample | null = null;
  for (const sample of samples) {
    if (sample.flash !== flash || sample.depth < depth) continue;
    if (most === null || sample.rows * sample.sequences > most.rows * most.sequences) most = sample;
  }
  return most === null ? 0 : most.ms * Math.max(1, tokens / (most.rows * most.sequences));
}
