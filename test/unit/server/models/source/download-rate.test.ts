import { expect, test } from "vitest";
import { DownloadRate } from "../../../../../server/models/source/download-rate.ts";

test("a piece waits for all that was received before it, and idle time earns no credit", () => {
  const pace = new DownloadRate(1000);
  expect([pace.pauseMs(100, 0), pace.pauseMs(50, 0), pace.pauseMs(50, 100)]).toEqual([100, 150, 100]);
  expect(pace.pauseMs(10, 5000)).toBe(10);
});
