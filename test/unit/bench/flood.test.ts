import { expect, it } from "vitest";
import { type FloodResult, floodDoubts, floodRow } from "../../../bench/flood/flood.ts";

/** 100 requests of 1 to 100 times `ms` milliseconds. */
function round(unitMs: number, cpuSeconds: number, flood: FloodResult["quiet"][number]["flood"]) {
  const ttfts = Array.from({ length: 100 }, (_, i) => (i + 1) * unitMs);
  return { ttfts, cpuSeconds, seconds: 10, flood };
}

function result(): FloodResult {
  const flood = { statuses: { "404": 2000, "200": 3, error: 1 }, cpuSeconds: 1 };
  return {
    kind: "unknown",
    quiet: [round(1, 1, null), round(1, 1, null), round(1, 1, null)],
    // The same number of answers cost one second in each, so 2,000 rejections took 0.4.
    flooded: [round(1, 1.4, flood), round(2, 1.4, flood), round(4, 1.4, flood)],
  };
}

it("pools rounds, compares pairs, and subtracts the cost of answers from that of rejections", () => {
  expect(floodRow(result())).toEqual([
    "unknown (404)",
    "200",
    "300",
    "50.5 → 86.5",
    "1.71",
    "99.0 → 388",
    "3.92",
    "2.00 (1.00–4.00)",
    "0.200",
  ]);
});

it("reports requests that were not rejected as expected", () => {
  expect(floodDoubts(result())).toEqual([
    "unknown: 9 times 200 instead of 404",
    "unknown: 3 times error instead of 404",
  ]);
});
