import { expect, it } from "vitest";
import { goDuration } from "../../../ledger/go-duration.ts";

it.each([
  [0, "0s"],
  [0.2, "1ms"],
  [12, "12ms"],
  [1000, "1s"],
  [1500, "1.5s"],
  [59_999.5, "1m0s"],
  [360_000, "6m0s"],
  [3_600_000, "1h0m0s"],
  [3_661_001, "1h1m1.001s"],
])("%d ms is %s", (ms, text) => expect(goDuration(ms)).toBe(text));
