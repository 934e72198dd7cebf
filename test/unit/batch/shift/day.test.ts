import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Day, HOUR, live, mostChangesPerHour, officeLoad } from "./day.ts";

const BERLIN_WINTER = HOUR;
const at = (text: string) => Date.parse(text);
/** Friday, an ordinary working day. */
const MORNING = at("2026-11-20T08:00+01:00");
const NIGHTLY = ["19:00-07:00"];

const office = (ms: number) => officeLoad(((ms + BERLIN_WINTER) / HOUR) % 24);

const day = (set: Partial<Day> & Pick<Day, "options">): Day => ({
  from: MORNING,
  hours: 26,
  load: office,
  peakTokensPerSecond: 1000,
  measured: true,
  batches: [{ submittedMs: MORNING, tokens: 5_000_000 }],
  ...set,
});

describe("a day in mode night", () => {
  const options = { mode: "night" as const, night: NIGHTLY, timezone: "Europe/Berlin" };

  it("runs nothing by day when the night suffices", () => {
    const { ended, changes } = live(day({ options }));
    expect(ended[0]).toBeGreaterThan(at("2026-11-20T19:00+01:00"));
    expect(ended[0]).toBeLessThan(at("2026-11-20T22:00+01:00"));
    expect(changes.map(({ reason, at: when }) => [reason, new Date(when).toISOString()])).toEqual([
      ["start", "2026-11-20T07:00:00.000Z"],
      ["window_opened", "2026-11-20T18:00:00.000Z"],
      ["window_closed", "2026-11-21T06:00:00.000Z"],
    ]);
  });

  it("measures for ten minutes first for a long batch on an unmeasured engine", () => {
    const { changes } = live(day({ options, measured: false }));
    expect(changes[0]).toMatchObject({ to: { phase: "deadline", share: 0.25 } });
    expect(changes[1]).toMatchObject({ to: { phase: "day", share: 0 }, at: MORNING + 600_000 });
    expect(changes[2]).toMatchObject({ to: { phase: "night" } });
  });

  it("runs by day too when the night is too short, and meets the deadline", () => {
    // 16.7 hours of a free engine, and online work takes a good part of the day.
    const lived = live(day({ options, batches: [{ submittedMs: MORNING, tokens: 60_000_000 }] }));
    expect(lived.ended[0]).toBeLessThanOrEqual(MORNING + 24 * HOUR);
    expect(lived.changes.some(({ to }) => to.phase === "deadline")).toBe(true);
    expect(mostChangesPerHour(lived)).toBeLessThanOrEqual(6);
  });

  it("continues by day after a window that was too short", () => {
    // Submitted at 22:00: the window closes at 7:00, the deadline is at 22:00 on a busy day, and the rate is the night's.
    const evening = at("2026-11-19T22:00+01:00");
    const batches = [{ submittedMs: evening, tokens: 45_000_000 }];
    const { ended } = live(day({ options, from: evening, batches }));
    expect(ended[0]).toBeLessThanOrEqual(evening + 24 * HOUR);
  });

  it("has the trickle share outside the windows", () => {
    const { minutes } = live(day({ options: { ...options, trickle: 0.1 }, hours: 12 }));
    expect(minutes[0]?.decision).toMatchObject({ share: 0.1, phase: "day" });
    expect(minutes[0]?.decision.reason).toBe("at 10 % of the engine until the night window at 19:00 Europe/Berlin");
    expect(minutes.at(-1)?.decision).toMatchObject({ share: 1, phase: "night" });
  });

  it.each([
    ["summer time begins", "2026-03-28T08:00+01:00", "2026-03-28T19:00+01:00", "2026-03-29T07:00+02:00"],
    ["winter time begins", "2026-10-24T08:00+02:00", "2026-10-24T19:00+02:00", "2026-10-25T07:00+01:00"],
  ])("keeps the local hours when %s", (_, from, opens, closes) => {
    const { changes } = live(day({ options, from: at(from), batches: [] }));
    expect(changes.slice(1).map(({ at: when, reason }) => [reason, when])).toEqual([
      ["window_opened", at(opens)],
      ["window_closed", at(closes)],
    ]);
  });

  it("meets the deadline over the night that is an hour short", () => {
    const from = at("2026-03-28T08:00+01:00");
    const { ended } = live(day({ options, from, batches: [{ submittedMs: from, tokens: 38_000_000 }] }));
    expect(ended[0]).toBeLessThanOrEqual(from + 24 * HOUR);
  });
});

describe("a day in mode idle", () => {
  it("runs only at low online load while the deadline is far", () => {
    const lived = live(day({ options: { mode: "idle", idleBelow: 0.2 } }));
    for (const { at: when, decision } of lived.minutes) {
      if (office(when) > 0.3) expect(decision).toMatchObject({ share: 0, phase: "busy" });
    }
    expect(lived.ended[0]).not.toBeNull();
    expect(mostChangesPerHour(lived)).toBeLessThanOrEqual(2);
  });

  it("meets the deadline with a growing share on a day without low load", () => {
    const load = () => 0.6;
    const lived = live(
      day({ options: { mode: "idle" }, load, batches: [{ submittedMs: MORNING, tokens: 15_000_000 }] }),
    );
    expect(lived.ended[0]).toBeLessThanOrEqual(MORNING + 24 * HOUR);
    expect(mostChangesPerHour(lived)).toBeLessThanOrEqual(6);
    expect(lived.changes.map(({ to }) => to.phase)).toContain("deadline");
  });

  it("does not flap when the load swings around the threshold every minute", () => {
    const load = (ms: number) => (Math.floor(ms / 60_000) % 2 === 0 ? 0.1 : 0.4);
    const lived = live(day({ options: { mode: "idle", idleBelow: 0.2 }, load }));
    // At least one minute open and five closed.
    expect(mostChangesPerHour(lived)).toBeLessThanOrEqual(22);
    const swing = (ms: number) => (Math.floor(ms / 60_000) % 2 === 0 ? 0.19 : 0.24);
    expect(live(day({ options: { mode: "idle", idleBelow: 0.2 }, load: swing })).changes).toHaveLength(1);
  });
});

describe("a day in the other modes", () => {
  it("has all of the engine in mode always", () => {
    const { changes, ended } = live(day({ options: { mode: "always" } }));
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ from: null, to: { phase: "always", share: 1 }, reason: "start" });
    expect(ended[0]).toBeLessThan(MORNING + 12 * HOUR);
  });

  it("stays off in mode off, also at a deadline", () => {
    const { changes, ended, minutes } = live(day({ options: { mode: "off" } }));
    expect(ended[0]).toBeNull();
    expect(changes).toHaveLength(1);
    for (const { decision } of minutes) expect(decision).toMatchObject({ share: 0, phase: "off" });
  });
});

describe("any day", () => {
  const anyDay = fc.record({
    mode: fc.constantFrom("night" as const, "idle" as const),
    // Of a day's work at full rate, of which a busy day leaves less than half.
    work: fc.double({ min: 0.01, max: 0.35, noNaN: true }),
    busy: fc.double({ min: 0, max: 0.55, noNaN: true }),
    wobble: fc.double({ min: 0, max: 0.4, noNaN: true }),
    startHour: fc.integer({ min: 0, max: 23 }),
    measured: fc.boolean(),
  });

  it("meets every feasible deadline without flapping", () => {
    fc.assert(
      fc.property(anyDay, ({ mode, work, busy, wobble, startHour, measured }) => {
        const from = at("2026-11-18T00:00+01:00") + startHour * HOUR;
        const lived = live({
          options: { mode, night: NIGHTLY, timezone: "Europe/Berlin" },
          from,
          hours: 24,
          load: (ms) => Math.min(0.6, busy + wobble * Math.abs(Math.sin(ms / 97_000))),
          peakTokensPerSecond: 500,
          measured,
          batches: [{ submittedMs: from, tokens: work * 500 * 86_400 }],
        });
        expect(lived.ended[0]).not.toBeNull();
        expect(mostChangesPerHour(lived)).toBeLessThanOrEqual(25);
        for (const { decision } of lived.minutes) expect([0, 0.25, 0.5, 0.75, 1]).toContain(decision.share);
      }),
      { numRuns: 15 },
    );
  });
});
