/**
 * Minimizes ½·xᵀAx − bᵀx over x ≥ 0, A symmetric and positive definite, row by row in one array. Exact: of all sets of
 * coordinates that may be above 0 it takes the best one that is feasible. 2ⁿ − 1 small systems at worst, so for n ≤ 5.
 */
export function solveNonNegative(a: Float64Array, b: Float64Array): Float64Array {
  const n = b.length;
  const best = new Float64Array(n);
  let least = 0;
  // All of them first: when that is feasible, nothing beats it.
  for (let set = 2 ** n - 1; set > 0; set--) {
    const members = Array.from({ length: n }, (_, i) => i).filter((i) => set & (1 << i));
    const x = solve(a, b, members);
    if (x === null || x.some((value) => value < 0)) continue;
    // At a stationary point the objective is −½·bᵀx.
    const objective = -members.reduce((sum, i, row) => sum + b[i]! * x[row]!, 0) / 2;
    if (objective >= least) continue;
    least = objective;
    best.fill(0);
    for (const [row, i] of members.entries()) best[i] = x[row]!;
    if (members.length === n) break;
  }
  return best;
}

/** Cholesky over the rows and columns named by `members`. @returns null when they are not positive definite */
function solve(a: Float64Array, b: Float64Array, members: readonly number[]): Float64Array | null {
  const n = members.length;
  const stride = b.length;
  const lower = new Float64Array(n * n);
  const x = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let value = b[members[i]!]!;
    for (let j = 0; j <= i; j++) {
      let sum = a[members[i]! * stride + members[j]!]!;
      for (let k = 0; k < j; k++) sum -= lower[i * n + k]! * lower[j * n + k]!;
      if (i !== j) lower[i * n + j] = sum / lower[j * n + j]!;
      else if (sum > 0) lower[i * n + i] = Math.sqrt(sum);
      else return null;
    }
    for (let k = 0; k < i; k++) value -= lower[i * n + k]! * x[k]!;
    x[i] = value / lower[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i]! -= lower[k * n + i]! * x[k]!;
    x[i]! /= lower[i * n + i]!;
  }
  return x.every(Number.isFinite) ? x : null;
}
