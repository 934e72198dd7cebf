import { pythonText, representation } from "../values/python-text.ts";
import { nameOf, numberOf, type Value } from "../values/values.ts";

/** Characters of one filled field. */
const LONGEST_FIELD = 1_000_000;
const DIRECTIVE = /%([-+0 #]*)(\d*)(?:\.(\d+))?([a-zA-Z%])/g;

/** Python's `format % values`. @throws Error for too few values, and for directives that are not known */
export function formatted(format: string, values: readonly Value[]): string {
  const rest = [...values];
  const result = format.replace(
    DIRECTIVE,
    (whole, flags: string, width: string, precision: string | undefined, kind) => {
      if (kind === "%") return "%";
      const value = rest.shift();
      if (value === undefined) throw new Error("not enough values for the format");
      const field = fieldText(kind, value, precision === undefined ? null : Number(precision));
      if (field === null) throw new Error(`the format '${whole}' is not known`);
      return padded(flags.includes("+") && numberOf(value) !== null && !field.startsWith("-") ? `+${field}` : field, {
        width: Number(width),
        left: flags.includes("-"),
        zeros: flags.includes("0") && numberOf(value) !== null,
      });
    },
  );
  if (rest.length > 0) throw new Error("not all values are used by the format");
  return result;
}

function fieldText(kind: string, value: Value, precision: number | null): string | null {
  switch (kind) {
    case "s":
    case "r": {
      const whole = kind === "s" ? pythonText(value) : representation(value);
      return precision === null ? whole : whole.slice(0, precision);
    }
    case "d":
    case "i":
      return String(Math.trunc(numeric(value)));
    case "x":
      return Math.trunc(numeric(value)).toString(16);
    case "f":
    case "F":
      return numeric(value).toFixed(Math.min(100, precision ?? 6));
    default:
      return null;
  }
}

function numeric(value: Value): number {
  const number = numberOf(value);
  if (number === null) throw new Error(`a number is needed for the format, not ${nameOf(value)}`);
  return number;
}

function padded(field: string, { width, left, zeros }: { width: number; left: boolean; zeros: boolean }): string {
  if (width > LONGEST_FIELD) throw new Error(`a field of more than ${LONGEST_FIELD} characters`);
  if (left) return field.padEnd(width);
  if (!zeros) return field.padStart(width);
  const sign = /^[-+]/.exec(field)?.[0] ?? "";
  return sign + field.slice(sign.length).padStart(width - sign.length, "0");
}
