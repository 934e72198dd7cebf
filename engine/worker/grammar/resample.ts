import type { GrammarConstraint } from "./grammar-constraint.ts";

/** One sequence's draw. */
export interface Draw {
  constraint: GrammarConstraint | null;
  /** The row of its logits, rules applied. */
  row: number;
  token: number;
}

export interface Redrawing<D extends Draw> {
  logits: (row: number) => Float32Array;
  /** Draws again from changed logits. */
  sample: (draws: D[]) => Promise<number[]>;
}

/** Draws of one token before a sequence counts as stuck. Once the vocabulary is masked, one more draw is enough. */
const MOST_ROUNDS = 16;

/**
 * Replaces every token that its grammar refuses. Nearly all drawn tokens are allowed, and the check of one costs a microsecond;
 * only for a refused one the whole vocabulary is masked and drawn from again.
 *
 * @returns the draws without a token: their grammar allows none that can be drawn
 */
export async function redrawRefused<D extends Draw>(
  draws: readonly D[],
  { logits, sample }: Redrawing<D>,
): Promise<Set<D>> {
  const stuck = new Set<D>();
  const isRefused = (draw: D) => draw.constraint?.allows(draw.token) === false;
  let refused = draws.filter(isRefused);
  for (let round = 0; refused.length > 0 && round < MOST_ROUNDS; round++) {
    const again: D[] = [];
    for (const draw of refused) {
      const left = draw.constraint!.restrict(logits(draw.row), draw.token);
      if (left.count === 0) stuck.add(draw);
      else if (left.count === 1) draw.token = left.token;
      else again.push(draw);
    }
    const tokens = again.length === 0 ? [] : await sample(again);
    again.forEach((draw, i) => {
      draw.token = tokens[i]!;
    });
    refused = again.filter(isRefused);
  }
  for (const draw of refused) stuck.add(draw);
  return stuck;
}
