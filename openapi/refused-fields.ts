import { z } from "zod";

/** The params of a custom issue. validate.ts makes the ApiError, with the path of the field. */
export interface Refusal {
  code: "unsupported_parameter" | "unsupported_value";
}

/**
 * A known field that is refused, so that it cannot be mistaken for one that works. null passes, and every `harmless`
 * value, one that asks for nothing. `reason` follows the name of the field in the message.
 */
export function refusedField(reason: string, harmless: (value: unknown) => boolean = () => false) {
  return refusal("unsupported_parameter", reason, harmless);
}

/** A field that supports only the harmless values. */
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
