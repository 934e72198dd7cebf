import { describe, expect, it } from "vitest";
import { type RemainingWork, requiredShare } from "../../../../batch/shift/required-share.ts";
import { decide, type ShiftInput } from "../../../../batch/shift/shift-decision.ts";
import { DEFAULT_SHIFT, type ShiftOptions, shiftRules } from "../../../../batch/shift/shift-rules.ts";
import { ShiftState } from "../../../../batch/shift/shift-state.ts";
import { HOUR } from "./day.ts";

const at = (text: string) => Date.parse(text);
const NOON = at("2026-11-20T12:00+01:00");
const rules = (options: Partial<ShiftOptions>) => shiftRules({ ...DEFAULT_SHIFT, ...options }, "Europe/Berlin");
/** The quarter of an hour is the reserve before a deadline. */
const batch = (hoursOfWork: number, hoursLeft: number, owner = "local"): RemainingWork => ({
  batchId: "b",
  owner,
  remainingTokens: hoursOfWork * 3600 * 100,
  deadlineMs: NOON + (hoursLeft + 0.25) * HOUR,
});
const input = (options: Partial<ShiftOptions>, set: Partial<ShiftInput> = {}): ShiftInput => ({
  rules: rules(options),
  nowMs: NOON,
  load: 0.5,
  backlog: [],
  tokensPerSecond: 100,
  previous: null,
  ...set,
});

describe("the reason", () => {
  const say = (options: Partial<ShiftOptions>, set: Partial<ShiftInput> = {}) => decide(input(options, set)).reason;

  it("names the window in its own time zone", () => {
    expect(say({ mode: "night", night: ["19:00-07:00"] })).toBe("waiting for the night window at 19:00 Europe/Berlin");
    expect(say({ mode: "night", night: ["19:00-07:00"], timezone: "Asia/Tokyo" })).toBe(
      "inside the night window until Sat 07:00 Asia/Tokyo",
    );
    expect(say({ mode: "night", night: ["Mon 19:00-07:00"] })).toBe(
      "waiting for the night window at Mon 19:00 Europe/Berlin",
    );
    expect(say({ mode: "night", night: ["00:00-24:00"] })).toBe("the night window has no end");
  });

  it("names load and threshold", () => {
    expect(say({ mode: "idle" })).toBe("waiting for online work to take less than 20 % of the time; it takes 50 %");
    expect(say({ mode: "idle" }, { load: 0.04 })).toBe("online load is low: online work takes 4 % of the time");
    expect(say({ mode: "off" })).toBe("batch work is switched off (shift: off)");
    expect(say({ mode: "always" })).toBe("batch work runs beside online work at any hour");
  });

  it("names the deadline, and whether it will be missed", () => {
    expect(say({ mode: "idle" }, { backlog: [batch(5, 13)] })).toBe(
      "the deadline at Sat 01:15 Europe/Berlin needs at least 50 % of the engine",
    );
    expect(say({ mode: "idle" }, { backlog: [batch(5, 4)] })).toBe(
      "the deadline at 16:15 Europe/Berlin needs more than all of the engine",
    );
  });
});

describe("deadlines", () => {
  it("require the work of all batches that are due until then", () => {
    const idle = rules({ mode: "idle" });
    const share = (...list: RemainingWork[]) => requiredShare(idle, list, NOON, 100)?.share;
    expect(share(batch(1, 13))).toBeCloseTo(0.1);
    expect(share(batch(1, 13), batch(4, 13))).toBeCloseTo(0.5);
    // A later deadline adds nothing to the share that the earlier one requires.
    expect(share(batch(5, 20), batch(5, 13))).toBeCloseTo(Math.max(0.5, (1.3 * 10) / 20));
    expect(share()).toBeUndefined();
    // An owner's hour of work ends when the other owner has had an hour too.
    expect(share(batch(5, 20), batch(1, 13, "other"))).toBeCloseTo(Math.max((1.3 * 2) / 13, (1.3 * 6) / 20));
    // A deadline that has passed requires no share.
    expect(share(batch(5, -1))).toBeUndefined();
  });

  it("require all of the engine in the last quarter of an hour", () => {
    expect(requiredShare(rules({ mode: "idle" }), [batch(0.001, 0)], NOON, 100)?.share).toBe(1);
    expect(
      requiredShare(rules({ mode: "night", night: ["13:00-14:00"] }), [batch(0.001, -0.1)], NOON, 100)?.share,
    ).toBe(1);
    expect(requiredShare(rules({ mode: "idle" }), [batch(1, 0)], NOON, 100)?.share).toBeCloseTo(1.3 / 0.25);
  });

  it("include the windows until then in mode night", () => {
    const night = rules({ mode: "night", night: ["19:00-07:00"] });
    expect(requiredShare(night, [batch(8, 24)], NOON, 100)?.share).toBe(0);
    // 13 hours with the safety: 12 by night, 1 of the 12 outside.
    expect(requiredShare(night, [batch(10, 24)], NOON, 100)?.share).toBeCloseTo(1 / 12);
    // Before 19:00 there is no window.
    expect(requiredShare(night, [batch(1, 2.6)], NOON, 100)?.share).toBeCloseTo(0.5);
  });

  it("raise the share at once, and lower it after ten minutes or when the work is done", () => {
    const options: Partial<ShiftOptions> = { mode: "idle" };
    const first = decide(input(options, { backlog: [batch(5, 13)] }));
    expect(first).toMatchObject({ phase: "deadline", share: 0.5, change: { from: null, reason: "start" } });
    const second = decide(input(options, { backlog: [batch(6, 13)], nowMs: NOON + 1000, previous: first.state }));
    expect(second).toMatchObject({ share: 0.75, change: { reason: "deadline_nears", to: { share: 0.75 } } });
    const later = (ms: number) =>
      decide(input(options, { backlog: [batch(3, 13)], nowMs: NOON + ms, previous: second.state }));
    expect(later(60_000)).toMatchObject({ share: 0.75, change: null });
    expect(later(700_000)).toMatchObject({ share: 0.5, change: { reason: "deadline_eased" } });
    const done = decide(input(options, { nowMs: NOON + 2000, previous: second.state }));
    expect(done).toMatchObject({ phase: "busy", share: 0, change: { reason: "deadline_eased" } });
  });

  it("require at most the share for a measurement before the first one", () => {
    const unmeasured = decide(input({ mode: "idle" }, { backlog: [batch(2, 13)], tokensPerSecond: null }));
    expect(unmeasured).toMatchObject({ phase: "deadline", share: 0.25 });
    expect(decide(input({ mode: "idle" }, { backlog: [batch(0.1, 13)], tokensPerSecond: null })).share).toBe(0);
  });

  it("do not hold their share after the clock was set back", () => {
    const first = decide(input({ mode: "idle" }, { backlog: [batch(5, 13)] }));
    const back = decide(
      input({ mode: "idle" }, { backlog: [batch(1, 37)], nowMs: NOON - 24 * HOUR, previous: first.state }),
    );
    expect(back).toMatchObject({ phase: "busy", share: 0 });
  });
});

it.each([
  ["off", "always"],
  ["always", "idle"],
  ["night", "off"],
] as const)("a change of the rules from %s to %s is its own reason", (before, after) => {
  const { state } = decide(input({ mode: before }, {}));
  const { change } = decide(input({ mode: after }, { previous: state }));
  expect(change?.reason).toBe("rules_changed");
});

it("logs and counts each change once", () => {
  const recorded: unknown[] = [];
  let load = 0.5;
  let now = NOON;
  const shift = new ShiftState(rules({ mode: "idle" }), {
    clock: { epochMs: () => now },
    log: { info: (fields, message) => recorded.push(message, fields) },
    observer: { shiftChanged: (reason, { share }) => recorded.push([reason, share]) },
  });
  expect(shift.decision).toBeNull();
  shift.update(load, [], 100);
  shift.update(load, [], 100);
  now += 10 * 60_000;
  load = 0.1;
  shift.update(load, [], 100);
  shift.update(load, [], 100);
  expect(shift.decision?.share).toBe(1);
  expect(recorded).toEqual([
    "Shift: busy, waiting for online work to take less than 20 % of the time; it takes 50 %",
    { from: null, to: { phase: "busy", share: 0 }, cause: "start" },
    ["start", 0],
    "Shift: idle, online load is low: online work takes 10 % of the time",
    { from: { phase: "busy", share: 0 }, to: { phase: "idle", share: 1 }, cause: "load_fell" },
    ["load_fell", 1],
  ]);
});
