import { LocalTime } from "./local-time.ts";
import { parseNightWindow } from "./window-parser.ts";
import { WindowSchedule } from "./window-schedule.ts";

export const SHIFT_MODES = ["always", "idle", "night", "off"] as const;
export type ShiftMode = (typeof SHIFT_MODES)[number];

/** The rule that gives the share now, as listed above `decide`. */
export type ShiftPhase = "always" | "night" | "day" | "idle" | "busy" | "deadline" | "off";

/** The shift as it is configured. */
export interface ShiftOptions {
  mode: ShiftMode;
  /** Windows of `night`, such as "Mon-Fri 19:00-07:00". */
  night: readonly string[];
  /** IANA name; null is the machine's. */
  timezone: string | null;
  /** Share of the engine, 0..1, that batch work has outside the windows. */
  trickle: number;
  /** Mode `idle`: batch work runs while online work takes less than this share of time, 0..1. */
  idleBelow: number;
}

export const DEFAULT_SHIFT: ShiftOptions = {
  mode: "always",
  night: ["Mon-Sun 19:00-07:00", "Sat,Sun 00:00-24:00"],
  timezone: null,
  trickle: 0,
  idleBelow: 0.2,
};

/** The parsed configuration of the shift. */
export interface ShiftRules {
  mode: ShiftMode;
  windows: WindowSchedule;
  localTime: LocalTime;
  trickle: number;
  idleBelow: number;
}

/** Throws a RangeError for a window or time zone that can't be read. `machineTimezone` stands in for null. */
export function shiftRules(options: ShiftOptions, machineTimezone: string): ShiftRules {
  const { mode, trickle, idleBelow } = options;
  const timezone = options.timezone ?? machineTimezone;
  const windows = new WindowSchedule(options.night.map(parseNightWindow), timezone);
  return { mode, windows, localTime: new LocalTime(timezone), trickle, idleBelow };
}
