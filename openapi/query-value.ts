import { z } from "zod";

/** The type that clients pass for a value of a query, which arrives as text. */
const written = new WeakMap<object, "integer" | "boolean">();

/** A whole number with at most this many digits. */
export function wholeNumber(digits: number) {
  const text = z.string().regex(new RegExp(`^\\d{1,${digits}}$`), "expected a whole number");
  written.set(text, "integer");
  return text.transform(Number);
}

/** `true` or `false`. */
export const flag = z.enum(["true", "false"]);
written.set(flag, "boolean");

/** The JSON schema of each value in the type that clients pass: a generated client passes numbers, not texts of numbers. */
export function queryProperties(query: z.ZodObject) {
  const { properties = {}, required = [] } = z.toJSONSchema(query, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const type = written.get(zodSchema);
      if (type === undefined) return;
      for (const key of ["type", "pattern", "enum"]) delete jsonSchema[key];
      Object.assign(jsonSchema, { type, ...(type === "integer" && { minimum: 0 }) });
    },
  });
  return Object.entries(properties).map(([name, schema]) => ({ name, schema, required: required.includes(name) }));
}
