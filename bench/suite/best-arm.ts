/** The arm with the highest or lowest value; null without arms. NaN is never best. */
export function bestArm<Arm>(arms: readonly Arm[], value: (arm: Arm) => number, sense: "most" | "least"): Arm | null {
  const sign = sense === "most" ? 1 : -1;
  let best: Arm | null = null;
  let most = Number.NEGATIVE_INFINITY;
  for (const arm of arms) {
    const signed = sign * value(arm);
    if (signed > most) [best, most] = [arm, signed];
  }
  return best;
}
