import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { covers, type NightWindow, parseNightWindow } from "../../../../batch/shift/window-parser.ts";
import { WindowSchedule } from "../../../../batch/shift/window-schedule.ts";

const MINUTE = 60_000;
const at = (text: string) => Date.parse(text);
const windows = (timezone: string, ...texts: string[]) => new WindowSchedule(texts.map(parseNightWindow), timezone);

/** The local clock read by other means than the code under test does. */
function naive(list: readonly NightWindow[], timezone: string): (ms: number) => boolean {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (ms) => {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].indexOf(part.weekday!);
    return list.some((window) => covers(window, day, Number(part.hour) * 60 + Number(part.minute)));
  };
}

/** Moments at which clocks change: to summer, to winter, by half an hour, at midnight, in the southern half, and never. */
const ZONES: [string, string][] = [
  ["Europe/Berlin", "2026-03-29T01:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00Z"],
  ["America/New_York", "2027-03-14T07:00Z"],
  ["America/New_York", "2027-11-07T06:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
  ["Australia/Lord_Howe", "2027-04-03T15:00Z"],
  ["America/Santiago", "2026-09-06T04:00Z"],
  ["America/Santiago", "2027-04-04T03:00Z"],
  ["Africa/Cairo", "2026-04-23T22:00Z"],
  ["Asia/Kathmandu", "2026-06-01T00:00Z"],
];

const window = fc
  .record({
    days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }).map((list) => new Set(list)),
    start: fc.integer({ min: 0, max: 1439 }),
    end: fc.integer({ min: 1, max: 1440 }),
  })
  .filter(({ start, end }) => start !== end);
/** Edges near 2:00 meet most changes of the clock. */
const near = fc.record({
  days: fc.constant(new Set([0, 1, 2, 3, 4, 5, 6])),
  start: fc.integer({ min: 0, max: 120 }),
  end: fc.integer({ min: 121, max: 240 }),
});

describe("night windows against the clock read minute by minute", () => {
  it("open and close at the same minutes around changes of the clock", () => {
    const lists = fc.array(fc.oneof(window, near), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), lists, fc.integer({ min: -600, max: 300 }), (zone, list, begin) => {
        const [timezone, change] = zone;
        const from = at(change) + begin * MINUTE;
        const to = from + 720 * MINUTE;
        const inside = naive(list, timezone);
        const tested = new WindowSchedule(list, timezone);
        const spans = tested.spans(from, to);
        let expectedChange: number | null = null;
        for (let ms = to - MINUTE; ms >= from; ms -= MINUTE) {
          expect(tested.inside(ms)).toBe(inside(ms));
          expect(spans.find((span) => span.from <= ms && ms < span.to)?.inside).toBe(inside(ms));
          if (expectedChange !== null) expect(tested.nextChange(ms)).toBe(expectedChange);
          if (inside(ms) !== inside(ms - MINUTE)) expectedChange = ms;
        }
      }),
      { numRuns: 30 },
    );
  });

  it("divide a span of time into adjoining parts", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        window,
        fc.nat(20 * 1440),
        fc.integer({ min: 1, max: 1e9 }),
        (zone, one, begin, ms) => {
          const from = at(zone[1]) + begin * MINUTE + (ms % 1000);
          const spans = new WindowSchedule([one], zone[0]).spans(from, from + ms);
          expect(spans[0]?.from).toBe(from);
          expect(spans.at(-1)?.to).toBe(from + ms);
          for (const [i, span] of spans.slice(1).entries()) {
            expect(span.from).toBe(spans[i]!.to);
            expect(span.inside).toBe(!spans[i]!.inside);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("night windows", () => {
  const office = windows("Europe/Berlin", "Mon-Fri 19:00-07:00", "Sat,Sun 00:00-24:00");

  it("join where they meet", () => {
    // Friday 19:00 to the end of Sunday.
    expect(office.nextChange(at("2026-11-20T17:59Z"))).toBe(at("2026-11-20T18:00Z"));
    expect(office.nextChange(at("2026-11-20T18:00Z"))).toBe(at("2026-11-22T23:00Z"));
  });

  it("keep their local hours over a change of the clock", () => {
    const nightly = windows("Europe/Berlin", "19:00-07:00");
    const [, night] = nightly.spans(at("2026-03-28T12:00Z"), at("2026-03-29T12:00Z"));
    expect(night).toEqual({ from: at("2026-03-28T18:00Z"), to: at("2026-03-29T05:00Z"), inside: true });
    const [, longNight] = nightly.spans(at("2026-10-24T12:00Z"), at("2026-10-25T12:00Z"));
    expect(longNight).toEqual({ from: at("2026-10-24T17:00Z"), to: at("2026-10-25T06:00Z"), inside: true });
  });

  it("are left out inside the skipped hour", () => {
    const skipped = windows("Europe/Berlin", "Sun 02:10-02:50");
    expect(skipped.nextChange(at("2026-03-28T12:00Z"))).toBe(at("2026-04-05T00:10Z"));
  });

  it("have no next change when they never open or close", () => {
    expect(windows("UTC", "00:00-24:00").nextChange(at("2026-11-20T00:00Z"))).toBeNull();
    expect(windows("UTC").nextChange(at("2026-11-20T00:00Z"))).toBeNull();
  });

  it("are correct after the clock was set back", () => {
    expect(office.nextChange(at("2026-12-24T12:00Z"))).toBe(at("2026-12-24T18:00Z"));
    expect(office.nextChange(at("2026-11-20T12:00Z"))).toBe(at("2026-11-20T18:00Z"));
  });

  it("refuse an unknown time zone", () => {
    expect(() => windows("Europe/Atlantis", "19:00-07:00")).toThrow(RangeError);
  });
});
