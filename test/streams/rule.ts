import { isDeepStrictEqual } from "node:util";
import type { ZodType } from "zod";

/** Throws the Error that names a rule which a stream breaks. */
export function rule(holds: boolean, name: string, seen?: unknown): asserts holds {
  if (!holds) throw new Error(seen === undefined ? name : `${name}: ${JSON.stringify(seen)}`);
}

/** Throws unless both have the same content. */
export function same(seen: unknown, expected: unknown, name: string): void {
  rule(isDeepStrictEqual(seen, expected), name, { seen, expected });
}

/** The value, if it has all keys of the schema and no other. */
export function exact<T>(schema: ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  rule(error === undefined, `a value has its schema, but ${error?.message}`, value);
  same(data, value, "a value has no other keys than those of its schema");
  return data as T;
}
