/**
 * The q-quantile (0 to 1) by linear interpolation between the two closest ranks: position q·(n − 1) in the sorted
 * values, Hyndman and Fan's type 7, NumPy's and R's default. NaN without values.
 */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  const position = q * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (position - below);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export interface Distribution {
  count: number;
  mean: number;
  min: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export function distribution(values: readonly number[]): Distribution {
  return {
    count: values.length,
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    min: quantile(values, 0),
    p50: median(values),
    p90: quantile(values, 0.9),
    p99: quantile(values, 0.99),
    max: quantile(values, 1),
  };
}

/** Summary of several repeats of one measurement. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: quantile(values, 0), max: quantile(values, 1) };
}

/** The slope of the least-squares line through the points; NaN with fewer than two different x. */
export function slope(points: readonly { x: number; y: number }[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  let products = 0;
  let squares = 0;
  for (const { x, y } of points) {
    products += (x - meanX) * (y - meanY);
    squares += (x - meanX) ** 2;
  }
  return squares === 0 ? Number.NaN : products / squares;
}
