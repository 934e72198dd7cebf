/** @returns the first id of the range below `end`, as long as the list, that already contains most of the given ids */
export function densestIds(given: readonly number[], end: number): number {
  const ids = given.toSorted((a, b) => a - b);
  let best = 0;
  let most = 0;
  let last = 0;
  for (let first = 0; first < ids.length; first++) {
    while (last < ids.length && ids[last]! < ids[first]! + ids.length) last++;
    if (last - first <= most) continue;
    most = last - first;
    best = ids[first]!;
  }
  return Math.min(best, end - ids.length);
}
