/**
 * Runs every arm once per repeat in turn, the order reversed each time, so that drift of the machine (heat, other work)
 * affects all arms alike. Returns the results per arm in the order of the repeats.
 */
export async function interleave<Arm, Result>(
  arms: readonly Arm[],
  repeats: number,
  measure: (arm: Arm, repeat: number) => Promise<Result>,
): Promise<Result[][]> {
  const results: Result[][] = arms.map(() => []);
  for (let repeat = 0; repeat < repeats; repeat++) {
    const order = [...arms.keys()];
    if (repeat % 2 === 1) order.reverse();
    for (const index of order) results[index]!.push(await measure(arms[index]!, repeat));
  }
  return results;
}
