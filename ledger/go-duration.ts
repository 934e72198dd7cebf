const UNITS = [
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/**
 * Formats milliseconds as a Go duration, the form of OpenAI's rate limit headers: `0s`, `12ms`, `1.5s`, `6m0s`. Rounds
 * up to whole milliseconds.
 */
export function goDuration(ms: number): string {
  let left = Math.ceil(ms);
  if (left === 0) return "0s";
  if (left < 1000) return `${left}ms`;
  let text = "";
  for (const [unit, length] of UNITS) {
    const count = Math.floor(left / length);
    if (count > 0 || text !== "") text += `${count}${unit}`;
    left -= count * length;
  }
  return `${text}${left / 1000}s`;
}
