/** Relative error below which a number counts as zero. */
const ROUNDING = 1e-9;

/**
 * Minimizes ½·xᵀAx − bᵀx over x ≥ 0, for A symmetric and positive definite, row by row in one array. Exact. Usually it is
 * enough to drop negative coordinates one by one; otherwise the best of all feasible sets is taken: 2ⁿ − 1 small systems.
 */
export function solveNonNegative(a: Float64Array, b: Float64Array): Float64Array {
  return dropNegatives(a, b) ?? bestOfAll(a, b);
}

/** @returns null when the result is not the minimum */
function dropNegatives(a: Float64Array, b: Float64Array): Float64Array | null {
  const members = Array.from(b, (_, i) => i);
  while (members.length > 0) {
    const x = solve(a, b, members);
    if (x === null) return null;
    const worst = x.indexOf(Math.min(...x));
    if (x[worst]! < 0) members.splice(worst, 1);
    else return ifMinimum(a, b, spread(x, members, b.length));
  }
  return null;
}

/** @returns x if no coordinate at 0 would decrease the objective by growing (Karush-Kuhn-Tucker condition), else null */
function ifMinimum(a: Float64Array, b: Float64Array, x: Float64Array): Float64Array | null {
  for (let i = 0; i < b.length; i++) {
    if (x[i]! > 0) continue;
    let pull = b[i]!;
    for (let j = 0; j < b.length; j++) pull -= a[i * b.length + j]! * x[j]!;
    if (pull > ROUNDING * Math.abs(b[i]!)) return null;
  }
  return x;
}

function bestOfAll(a: Float64Array, b: Float64Array): Float64Array {
  let best = new Float64Array(b.length);
  let least = 0;
  for (let set = 2 ** b.length - 1; set > 0; set--) {
    const members = Array.from(b, (_, i) => i).filter((i) => set & (1 << i));
    const x = solve(a, b, members);
    if (x === null || x.some((value) => value < 0)) continue;
    // At a stationary point the objective is −½·bᵀx.
    const objective = -members.reduce((sum, i, row) => sum + b[i]! * x[row]!, 0) / 2;
    if (objective >= least) continue;
    least = objective;
    best = spread(x, members, b.length);
  }
  return best;
}

function spread(x: Float64Array, members: readonly number[], length: number): Float64Array<ArrayBuffer> {
  const all = new Float64Array(length);
  for (const [row, i] of members.entries()) all[i] = x[row]!;
  return all;
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
