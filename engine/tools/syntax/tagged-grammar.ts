import { literal } from "../../../grammar/gbnf/literal.ts";
import type { CallableTool } from "./format.ts";
import { schemaMembers } from "./schema-members.ts";

/**
 * Right-hand side for arguments that are written one by one in the order of the schema, the required and any of the
 * others. `one` writes an argument around its value. A string is bare text of the rule `text`, an enum one of its values,
 * and every other value is JSON of its schema.
 */
export function taggedRule(
  { parameters, valueRule }: CallableTool,
  text: string,
  one: (key: string, value: string, schema: unknown) => string,
): string {
  const parts = schemaMembers(parameters).map(({ key, schema, required }) => {
    const written = one(key, taggedValueRule(schema, text, valueRule), schema);
    return required ? written : `(${written})?`;
  });
  return parts.join(" ");
}

function taggedValueRule(schema: unknown, text: string, valueRule: (schema: unknown) => string): string {
  const fields = typeof schema === "object" && schema !== null ? schema : {};
  if ("enum" in fields && Array.isArray(fields.enum)) {
    const values = fields.enum.map((value: unknown) => {
      return literal(typeof value === "string" ? value : JSON.stringify(value));
    });
    return `(${values.join(" | ")})`;
  }
  if ("type" in fields && fields.type === "string") return text;
  return valueRule(schema);
}
