import { expect, it } from "vitest";
import { type FloodResult, floodDoubts, floodRow } from "../../../bench/flood.ts";

const QUIET = { p50: 5, p99: 20, requests: 100, cpuSeconds: 1, seconds: 10, flood: null };

function result(): FloodResult {
  const flood = { statuses: { "404": 2000, "200": 3, error: 1 }, cpuSeconds: 1 };
  return {
    kind: "unknown",
    quiet: [QUIET, { ...QUIET, p99: 30 }, { ...QUIET, p99: 10 }],
    // 90 answered requests would have cost 0.9 s, so 2,000 refusals took 0.4.
    flooded: [22, 33, 10].map((p99) => ({ ...QUIET, p99, requests: 90, cpuSeconds: 1.3, flood })),
  };
}

it("compares the rounds of each turn, and takes what answers cost off what refusals cost", () => {
  expect(floodRow(result())).toEqual([
    "unknown (404)",
    "200",
    "5.00 (5.00–5.00)",
    "5.00 (5.00–5.00)",
    "20.0 (10.0–30.0)",
    "22.0 (10.0–33.0)",
    "1.10 (1.00–1.10)",
    "0.200 (0.200–0.200)",
  ]);
});

it("tells what was not refused as it should have been", () => {
  expect(floodDoubts(result())).toEqual([
    "unknown: 9 times 200 instead of 404",
    "unknown: 3 times error instead of 404",
  ]);
});
