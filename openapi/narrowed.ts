import type { z } from "zod";

/** Sets of fields that are remembered; bodies with yet others are checked against all fields. */
const MAX_KNOWN = 64;

/**
 * The same schema for many bodies, by the fields that each has: those that may be absent, and are, are left out. They
 * could not change what comes of it, and zod visits each of them for every body. The bodies of a batch have few of some
 * seventy fields, and nearly always the same ones.
 */
export function narrowed<Schema extends z.ZodObject>(schema: Schema): (body: unknown) => Schema {
  const known = new Map<string, Schema>();
  return (body) => {
    if (typeof body !== "object" || body === null) return schema;
    const present = Object.keys(body).filter((key) => Object.hasOwn(schema.shape, key));
    // No field's name has a comma in it.
    const key = present.join();
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size === MAX_KNOWN) return schema;
    const made = without(schema, new Set(present));
    known.set(key, made);
    return made;
  };
}

function without<Schema extends z.ZodObject>(schema: Schema, present: ReadonlySet<string>): Schema {
  const shape = Object.entries(schema.shape).filter(([key, { _zod: field }]) => {
    return present.has(key) || field.optin !== "optional" || field.optout !== "optional";
  });
  // A clone keeps the checks between fields, which pick() would refuse.
  return schema.clone({ ...schema.def, shape: Object.fromEntries(shape) });
}
