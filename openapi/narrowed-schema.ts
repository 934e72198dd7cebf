import type { z } from "zod";

/** Sets of fields whose schemas are kept. Bodies with further sets are checked against the whole schema. */
const MAX_KNOWN = 64;

/**
 * Gives for each body the schema without the optional fields that the body does not have. They cannot change the result,
 * and zod visits each of them for every body. Bodies of a batch have few of some seventy fields, and nearly always the
 * same ones.
 */
export function narrowed<Schema extends z.ZodObject>(schema: Schema): (body: unknown) => Schema {
  const known = new Map<string, Schema>();
  return (body) => {
    if (typeof body !== "object" || body === null) return schema;
    const present = Object.keys(body).filter((key) => Object.hasOwn(schema.shape, key));
    // The names of fields have no commas.
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
