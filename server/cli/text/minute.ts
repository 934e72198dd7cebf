/** Unix seconds as `2026-11-21 09:30`, in UTC. */
export function minuteOf(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}
