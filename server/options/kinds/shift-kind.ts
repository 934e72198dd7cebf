import { z } from "zod";
import { SHIFT_MODES, type ShiftOptions } from "../../../batch/shift/shift-rules.ts";
import { parseNightWindow } from "../../../batch/shift/window-parser.ts";
import { choice, type Kind } from "./kind.ts";

const share = z.number().min(0).max(1);

const timezone = z.string().refine(isTimezone, "there is no such time zone; one is Europe/Berlin");

/** A window such as "Mon-Fri 19:00-07:00", as text. */
export const windowText = z.string().superRefine((text, context) => {
  try {
    parseNightWindow(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
  }
});

const settings = z.strictObject({
  mode: choice(SHIFT_MODES).schema.optional(),
  night: z
    .preprocess((value) => (typeof value === "string" ? [value] : value), z.array(windowText).min(1).max(100))
    .optional(),
  timezone: timezone.optional(),
  trickle: share.optional(),
  idleBelow: share.optional(),
});

/**
 * The shift: a mode, or in the file a map of settings. A mode of a flag or variable keeps the windows of the file. A map
 * without a mode has the mode that its windows or threshold imply.
 */
export function shift(): Kind<ShiftOptions> {
  const over = (below: ShiftOptions) =>
    z.preprocess(
      (value) => withoutNull(typeof value === "object" && value !== null ? value : { mode: value }),
      settings.transform((set): ShiftOptions => ({ ...below, ...set, mode: set.mode ?? impliedMode(set, below) })),
    );
  return {
    metavar: SHIFT_MODES.join("|"),
    allowed: `one of ${SHIFT_MODES.join(", ")}; in the file also a map of mode, night, timezone, trickle and idleBelow`,
    schema: z.custom<ShiftOptions>(),
    over,
    nested: true,
  };
}

function impliedMode(set: z.infer<typeof settings>, below: ShiftOptions): ShiftOptions["mode"] {
  if (set.night !== undefined) return "night";
  return set.idleBelow === undefined ? below.mode : "idle";
}

/** Removes null values: `timezone:` without a value is null in YAML, and counts as unset. */
function withoutNull(value: object): unknown {
  if (Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, set]) => set !== null));
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
