import { expect, it } from "vitest";
import { ReportedLimits } from "../../../../../engine/upstream/rate/reported-limits.ts";

/** Milliseconds of the pause after answers with these headers, each without `x-ratelimit-`. */
function pause(...answers: Record<string, string>[]): number {
  const limits = new ReportedLimits();
  for (const headers of answers) limits.read((name) => headers[name.replace("x-ratelimit-", "")] ?? null, 1000);
  return limits.pausedMs(1000);
}

it.each<[string, Record<string, string>[], number]>([
  ["nothing is said", [{}], 0],
  ["enough is left", [{ "limit-tokens": "100", "remaining-tokens": "11", "reset-tokens": "5s" }], 0],
  ["the time is not said", [{ "limit-tokens": "100", "remaining-tokens": "0" }], 0],
  // A fifth of a limit that fills in ten seconds.
  ["nothing is left", [{ "limit-requests": "100", "remaining-requests": "0", "reset-requests": "10s" }], 2000],
  ["a tenth is left", [{ "limit-tokens": "100", "remaining-tokens": "10", "reset-tokens": "9s" }], 1000],
  ["the only request is used", [{ "limit-requests": "1", "remaining-requests": "0", "reset-requests": "100ms" }], 20],
  [
    "little is left of the most that was seen",
    [{ "remaining-tokens": "1000" }, { "remaining-tokens": "0", "reset-tokens": "20s" }],
    4000,
  ],
  ["a day is said", [{ "limit-tokens": "100", "remaining-tokens": "0", "reset-tokens": "24h" }], 60_000],
  ["the headers are unreadable", [{ "limit-tokens": "x", "remaining-tokens": "-1", "reset-tokens": "soon" }], 0],
])("flex and batch pause where %s", (_, answers, ms) => {
  expect(pause(...answers)).toBe(ms);
});
