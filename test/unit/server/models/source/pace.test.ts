import { expect, test } from "vitest";
import { Pace } from "../../../../../server/models/source/pace.ts";

test("each waits behind all that was received before it, and time that nothing was received in is not made up for", () => {
  const pace = new Pace(1000);
  expect([pace.pauseMs(100, 0), pace.pauseMs(50, 0), pace.pauseMs(50, 100)]).toEqual([100, 150, 100]);
  expect(pace.pauseMs(10, 5000)).toBe(10);
});
