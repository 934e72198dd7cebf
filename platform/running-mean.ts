/** Weight of the latest value in a running mean. */
const LATEST = 1 / 16;

/** The running mean with one more value; `before` is null for the first. */
export function runningMean(before: number | null, latest: number): number {
  return before === null ? latest : before + (latest - before) * LATEST;
}
