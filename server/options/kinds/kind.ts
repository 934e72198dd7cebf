import { z } from "zod";

/**
 * The syntax of an option's value. Flags and environment have strings, the file has YAML values; one schema parses both.
 */
export interface Kind<T> {
  /** The placeholder of the value in `--help`. */
  metavar: string;
  /** Ends the sentence "must be …" of an error. */
  allowed: string;
  schema: z.ZodType<T>;
  /** True if repeatable. In the environment commas and new lines separate the values, and `\\,` is a comma. */
  list?: true;
  /** True if it has neither flag nor environment variable. */
  fileOnly?: true;
  /** True if only the environment sets it, where neither process lists nor the file show it. */
  environmentOnly?: true;
  /** True for maps and secrets: an error names the position and shows no value. */
  nested?: true;
  /** For an option whose sources are merged: parses a source on top of the value of the sources below. */
  over?(below: T): z.ZodType<T>;
}

const UNITS: Record<string, number> = {
  "": 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

const written = (pattern: RegExp) => z.string().trim().regex(pattern).transform(Number);

/** A whole number from min to max. */
export function integer(min: number, max: number, metavar = "n"): Kind<number> {
  const schema = z.union([z.number(), written(/^-?\d{1,15}$/)]).pipe(z.number().int().min(min).max(max));
  return { metavar, allowed: `a whole number from ${spaced(min)} to ${spaced(max)}`, schema };
}

/** A share: 0.1 is a tenth. */
export function share(max: number): Kind<number> {
  const schema = z.union([z.number(), written(/^\d{1,3}(\.\d{1,6})?$/)]).pipe(z.number().min(0).max(max));
  return { metavar: "share", allowed: `a share from 0 to ${max}`, schema };
}

/** An amount of money in USD. */
export function usd(max: number): Kind<number> {
  const schema = z.union([z.number(), written(/^\d{1,7}(\.\d{1,6})?$/)]).pipe(z.number().min(0).max(max));
  return { metavar: "usd", allowed: `an amount in USD from 0 to ${spaced(max)}`, schema };
}

/** An amount of memory, in bytes: `512MB` is decimal, `512MiB` binary, no unit is bytes. */
export function size(min: number, max: number): Kind<number> {
  const amount = z
    .string()
    .trim()
    .regex(/^\d{1,15}(\.\d{1,6})?\s*([KMGT]I?B)?$/i)
    .transform((text) => {
      const unit = /[a-z]*$/i.exec(text)?.[0] ?? "";
      return Math.floor(Number(text.slice(0, text.length - unit.length)) * (UNITS[unit.toUpperCase()] ?? 1));
    });
  const schema = z.union([z.number(), amount]).pipe(z.number().int().min(min).max(max));
  return {
    metavar: "size",
    allowed: `a size such as 512MB or 8GiB, from ${sizeText(min)} to ${sizeText(max)}`,
    schema,
  };
}

/** One of several words. `true` and `false` are read as `on` and `off`. */
export function choice<const T extends string>(words: readonly [T, ...T[]], metavar = words.join("|")): Kind<T> {
  const schema = z.preprocess((value) => {
    if (typeof value === "boolean") return value ? "on" : "off";
    return typeof value === "string" ? value.trim().toLowerCase() : value;
  }, z.enum(words));
  return { metavar, allowed: words.length === 1 ? words[0] : `one of ${words.join(", ")}`, schema };
}

/** Text that is not empty. */
export function text(metavar: string): Kind<string> {
  const schema = z.string().trim().min(1).max(4096);
  return { metavar, allowed: "text that is not empty", schema };
}

/** Any number of texts. */
export function texts(metavar: string): Kind<string[]> {
  const one = z.string().trim().min(1).max(4096);
  const schema = z.union([one.transform((value) => [value]), z.array(one).max(1000)]);
  return { metavar, allowed: "one text or a list of texts, none empty", schema, list: true };
}

/** Models as `name=source` or `source`; in the file also a map of names to sources. */
export function models(): Kind<string[]> {
  const named = z
    .record(z.string().trim().min(1).max(256), z.string().trim().min(1).max(4096))
    .transform((map) => Object.entries(map).map(([name, source]) => `${name}=${source}`));
  const { schema } = texts("");
  return {
    metavar: "[name=]path|uri",
    allowed: "a path or URI, with `name=` before it to set its name; in the file a list, or a map of names",
    schema: z.union([schema, named]),
    list: true,
  };
}

/** `name=value`, divided at the last `=`, because a name may contain one; in the file a map. */
export function byName(metavar: string, allowed: string, value: z.ZodType<string>): Kind<Record<string, string>> {
  const entry = z
    .string()
    .trim()
    .regex(/^.+=[^=]+$/)
    .transform((text) => {
      const divider = text.lastIndexOf("=");
      return [text.slice(0, divider), text.slice(divider + 1)] as const;
    });
  const entries = z
    .union([entry.transform((one) => [one]), z.array(entry).max(1000)])
    .transform((list) => Object.fromEntries(list));
  const schema = z
    .union([entries, z.record(z.string(), z.unknown())])
    .pipe(z.record(z.string().min(1).max(256), value));
  return { metavar, allowed, schema, list: true };
}

/** One of two kinds, such as `auto`, `off` or a number of layers. */
export function either<A, B>(first: Kind<A>, second: Kind<B>): Kind<A | B> {
  return {
    metavar: `${first.metavar}|${second.metavar}`,
    allowed: `${first.allowed}, or ${second.allowed}`,
    schema: z.union([first.schema, second.schema]),
  };
}

/** The same kind for an option that may be unset (null). */
export function optional<T>(kind: Kind<T>): Kind<T | null> {
  return { ...kind, schema: kind.schema.nullable() };
}

export function spaced(value: number): string {
  return value.toLocaleString("en-US");
}

/** 1073741824 → "1GiB", 8000000000 → "8GB": in the largest unit that divides it. */
export function sizeText(bytes: number): string {
  for (const unit of ["TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "KB"]) {
    const factor = UNITS[unit.toUpperCase()] ?? 1;
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return `${bytes}B`;
}
