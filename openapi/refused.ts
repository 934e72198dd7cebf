import { z } from "zod";

/** Carried by a custom issue to validate.ts, which knows the field's path and makes the ApiError. */
export interface Refusal {
  code: "unsupported_parameter" | "unsupported_value";
}

/**
 * A field that is known and refused by name, so that nobody takes an ignored field for one that works.
 * null and every value that asks for nothing (`harmless`) pass. `reason` follows the field's name in the message.
 */
export function refusedField(reason: string, harmless: (value: unknown) => boolean = () => false) {
  return refusal("unsupported_parameter", reason, harmless);
}

/** A field of which only the harmless values are supported. */
export function refusedValue(reason: string, harmless: (value: unknown) => boolean) {
  return refusal("unsupported_value", reason, harmless);
}

function refusal(code: Refusal["code"], reason: string, harmless: (value: unknown) => boolean) {
  return z
    .unknown()
    .check((context) => {
      const { value } = context;
      if (value === undefined || value === null || harmless(value)) return;
      const params: Refusal = { code };
      context.issues.push({ code: "custom", input: value, params: { ...params }, message: reason });
    })
    .optional()
    .describe(`Refused with 400 \`${code}\`: ${reason}`);
}

export function isFalse(value: unknown): boolean {
  return value === false;
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

export function isOneOf(...values: unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}
