import type { z } from "zod";

/** Fields that are named in an answer, so that the header has at most 2 KiB. */
const MOST_NAMED = 31;
const MAX_NAME_LENGTH = 64;
/** Other characters may not stand in a header, or would end a name. */
const UNSAFE = /[^\w.-]/g;

const ignored = new WeakSet<z.ZodType>();

/** A field that is checked and has no effect. `reason` is the end of its description. */
export function ignoredField<Schema extends z.ZodType>(schema: Schema, reason = "Accepted and ignored."): Schema {
  const field = schema.describe(reason);
  ignored.add(field);
  return field;
}

/** The fields of a body that no schema has, or that have no effect. null is the same as an omitted field. */
export function ignoredNames(body: object, ...schemas: readonly Pick<z.ZodObject, "shape">[]): string[] {
  const used = (name: string) => {
    return schemas.some(({ shape }) => Object.hasOwn(shape, name) && !ignored.has(shape[name] as z.ZodType));
  };
  return Object.entries(body).flatMap(([name, value]) => (value == null || used(name) ? [] : [name]));
}

/** The names that an answer reports, in the order of the body; a last entry counts those beyond the bound. */
export function reportedNames(names: readonly string[]): string[] {
  const named = names.slice(0, MOST_NAMED).map((name) => name.slice(0, MAX_NAME_LENGTH).replace(UNSAFE, "?") || "?");
  const more = names.length - named.length;
  return more > 0 ? [...named, `+${more} more`] : named;
}
