import { describe, expect, it } from "vitest";
import { covers, parseNightWindow } from "../../../../batch/shift/window-parser.ts";

const days = (text: string) => [...parseNightWindow(text).days].sort();

describe("a night window", () => {
  it.each([
    ["Mon-Fri 19:00-07:00", [1, 2, 3, 4, 5], 1140, 420],
    ["Sat,Sun 00:00-24:00", [0, 6], 0, 1440],
    ["  sun 7:05 - 23:59 ", [0], 425, 1439],
    ["19:00-07:00", [0, 1, 2, 3, 4, 5, 6], 1140, 420],
    ["Mon, Wed-Thu 22:00-00:00", [1, 3, 4], 1320, 1440],
  ])("reads %j", (text, expectedDays, start, end) => {
    expect(days(text)).toEqual(expectedDays);
    expect(parseNightWindow(text)).toMatchObject({ start, end });
  });

  it("parses ranges of days across the end of the week", () => {
    expect(days("Fri-Mon 20:00-06:00")).toEqual([0, 1, 5, 6]);
    expect(days("Mon-Sun 20:00-06:00")).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it.each([
    ["", /is not of the form/],
    ["Mon-Fri", /is not of the form/],
    ["Mon 19-07", /is not of the form/],
    ["Mon 19:00-07:00 Tue", /is not of the form/],
    ["Montag 19:00-07:00", /has "montag" where days/],
    ["Mon-Tue-Wed 19:00-07:00", /has "mon-tue-wed" where days/],
    ["Mon,,Tue 19:00-07:00", /has "" where days/],
    ["Mon 25:00-07:00", /has no time 25:00/],
    ["Mon 19:60-07:00", /has no time 19:60/],
    ["Mon 24:01-07:00", /has no time 24:01/],
    ["Mon 24:00-07:00", /begins at 24:00/],
    ["Mon 07:00-07:00", /is empty/],
  ])("refuses %j", (text, why) => {
    expect(() => parseNightWindow(text)).toThrow(why);
    expect(() => parseNightWindow(text)).toThrow(RangeError);
  });

  it("covers the night of the day on which it begins", () => {
    const friday = parseNightWindow("Fri 19:00-07:00");
    expect(covers(friday, 5, 1140)).toBe(true);
    expect(covers(friday, 6, 419)).toBe(true);
    expect(covers(friday, 6, 420)).toBe(false);
    expect(covers(friday, 6, 1140)).toBe(false);
    expect(covers(friday, 5, 419)).toBe(false);
  });
});
