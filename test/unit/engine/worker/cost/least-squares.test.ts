import fc from "fast-check";
import { expect, test } from "vitest";
import { solveNonNegative } from "../../../../../engine/worker/cost/least-squares.ts";

const N = 4;
const number = fc.double({ min: -2, max: 2, noNaN: true });

test("the result is the minimum over non-negative vectors", () => {
  const rows = fc.array(fc.array(number, { minLength: N, maxLength: N }), { minLength: N, maxLength: N });
  fc.assert(
    fc.property(rows, fc.array(number, { minLength: N, maxLength: N }), (m, target) => {
      // MᵀM + I/10 is positive definite.
      const a = Float64Array.from({ length: N * N }, (_, at) => {
        const [i, j] = [Math.floor(at / N), at % N];
        return m.reduce((sum, row) => sum + row[i]! * row[j]!, i === j ? 0.1 : 0);
      });
      const b = Float64Array.from(target);
      const x = solveNonNegative(a, b);
      for (let i = 0; i < N; i++) {
        const slope = x.reduce((sum, value, j) => sum + a[N * i + j]! * value, 0) - b[i]!;
        expect(x[i]!).toBeGreaterThanOrEqual(0);
        if (x[i]! > 0) expect(Math.abs(slope)).toBeLessThan(1e-6);
        else expect(slope).toBeGreaterThan(-1e-6);
      }
    }),
    { numRuns: 500 },
  );
});
