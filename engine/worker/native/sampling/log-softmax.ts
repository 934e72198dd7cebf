/** The best of a distribution; any of its logits minus `logSum` is a log probability. */
export interface TopLogits {
  /** The ids of the highest logits, highest first; of equals the lowest id first. */
  tokens: number[];
  logits: number[];
  /** The logarithm of the sum of exp(logit) over the whole row. */
  logSum: number;
}

/** e^−x at steps of 1/64, up to values that no longer change a float32 sum of a million terms. */
const STEPS = 64;
const FAR = 40;
const TABLE = Float64Array.from({ length: FAR * STEPS + 1 }, (_, i) => Math.exp(-i / STEPS));

/**
 * Reads a row of logits twice: for the best `count`, and for the sum of exponentials below the best of all. An exponential
 * is a look into a table and a cubic, exact to 3e-9: 0.46 ms for a row of 151,936, where a sum with Math.exp alone takes
 * 1.75 (docs/decisions/2026-11-21-log-probabilities-from-raw-logits.md).
 *
 * A NaN is never among the best, and makes the sum NaN.
 *
 * @param count at least 1
 */
export function topLogits(row: Float32Array, count: number): TopLogits {
  const { length } = row;
  const end = length - (length % 8);
  const best = new Best(Math.min(count, length));
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < end; i += 8) {
    if (
      row[i]! > least ||
      row[i + 1]! > least ||
      row[i + 2]! > least ||
      row[i + 3]! > least ||
      row[i + 4]! > least ||
      row[i + 5]! > least ||
      row[i + 6]! > least ||
      row[i + 7]! > least
    ) {
      for (let j = i; j < i + 8; j++) if (row[j]! > least) least = best.insert(j, row[j]!);
    }
  }
  for (let i = end; i < length; i++) if (row[i]! > least) least = best.insert(i, row[i]!);
  const { tokens, logits } = best;
  const most = logits[0] ?? Number.NEGATIVE_INFINITY;
  return { tokens, logits, logSum: most + Math.log(sumBelow(row, most)) };
}

/** The sum of e^(logit − most). */
function sumBelow(row: Float32Array, most: number): number {
  let sum = 0;
  for (let i = 0; i < row.length; i++) {
    const below = most - row[i]!;
    if (below >= FAR) continue;
    const step = (below * STEPS) | 0;
    const rest = below - step / STEPS;
    sum += TABLE[step]! * (1 - rest * (1 - rest * (0.5 - rest * (1 / 6))));
  }
  return sum;
}

/** The highest logits so far, in order. */
class Best {
  readonly tokens: number[] = [];
  readonly logits: number[] = [];
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  /** @returns the least logit, which a further one must exceed */
  insert(token: number, logit: number): number {
    const { tokens, logits } = this;
    let place = logits.length;
    while (place > 0 && logits[place - 1]! < logit) place--;
    tokens.splice(place, 0, token);
    logits.splice(place, 0, logit);
    if (logits.length > this.#count) {
      tokens.pop();
      logits.pop();
    }
    return logits.length < this.#count ? Number.NEGATIVE_INFINITY : logits[this.#count - 1]!;
  }
}
