import { z } from "zod";

/** A JSON object whose members are not validated: zod's own record takes 0.2 s to copy 60,000 of them. */
export function anyObject() {
  return z
    .custom<Record<string, unknown>>()
    .check((context) => {
      const { value } = context;
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
      context.issues.push({ code: "invalid_type", expected: "record", input: value, continue: false });
    })
    .meta({ type: "object", additionalProperties: {} });
}
