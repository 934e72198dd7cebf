import { z } from "zod";
import { type Kind, spaced } from "./kind.ts";

/** Parses `30s`, `5m` or a number without unit to the option's own unit, which is `unitMs` milliseconds. */
function durationIn(unitMs: number) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^\d{1,9}(\.\d{1,6})?(ms|[smhd])?$/)
    .transform((text) => {
      const unit = /[a-z]*$/.exec(text)?.[0] ?? "";
      return (Number.parseFloat(text) * (DURATION_UNITS_MS[unit] ?? unitMs)) / unitMs;
    });
}

const DURATION_UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A length of time in seconds, fractions allowed: `30`, `30s`, `5m`, `1h`. */
export function seconds(min: number, max: number): Kind<number> {
  const schema = z.union([z.number(), durationIn(1000)]).pipe(z.number().min(min).max(max));
  return {
    metavar: "seconds",
    allowed: `seconds from ${spaced(min)} to ${spaced(max)}, or a duration such as 30s, 5m or 1h`,
    schema,
  };
}

/** A length of time in whole milliseconds: `500`, `500ms`, `2s`. */
export function milliseconds(min: number, max: number): Kind<number> {
  const schema = z.union([z.number(), durationIn(1)]).pipe(z.number().int().min(min).max(max));
  return {
    metavar: "ms",
    allowed: `whole milliseconds from ${spaced(min)} to ${spaced(max)}, or a duration such as 500ms or 2s`,
    schema,
  };
}

/** A period in seconds: `30s`, `5m`, `1h` or a number of seconds; `forever` and negative numbers are null. */
export function keeping(): Kind<number | null> {
  const never = z.union([
    z.null(),
    z
      .string()
      .trim()
      .toLowerCase()
      .regex(/^(-1|forever)$/),
    z.number().lt(0),
  ]);
  return {
    metavar: "duration",
    allowed: "a duration such as 30s, 5m or 1h, or forever",
    schema: z.union([never.transform(() => null), durationIn(1000), z.number().min(0)]),
  };
}
