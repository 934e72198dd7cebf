import type { Random } from "../../base/random.ts";

/**
 * Draws from the gamma distribution with mean 1: Marsaglia and Tsang, ACM TOMS 26 (2000), boosted for shapes below 1.
 */
export function gamma(shape: number, random: Random): number {
  if (shape < 1) {
    // Gamma(a) = Gamma(a + 1) · U^(1/a); the factors keep the mean at 1 on both sides
    return (gamma(shape + 1, random) * (shape + 1) * (1 - random.next()) ** (1 / shape)) / shape;
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random.next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return (d * v) / shape;
  }
}

/** Box and Muller; 1 − U is never 0, so its logarithm is finite. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
