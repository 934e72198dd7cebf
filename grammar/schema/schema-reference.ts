import { isSchemaObject, type JsonSchema, type SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Finds the schema of a local reference (RFC 6901, in a URI fragment). No URL is fetched. @throws UnsupportedSchema */
export function resolvePointer(
  root: JsonSchema,
  reference: unknown,
  from: SchemaPath,
): { schema: unknown; path: SchemaPath } {
  const at = [...from, "$ref"];
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) {
    throw new UnsupportedSchema(at, "only references within the schema are supported, such as '#/$defs/name'.");
  }
  let schema: unknown = root;
  const path: (string | number)[] = [];
  for (const part of reference.slice(1).split("/").slice(1)) {
    const key = unescaped(part);
    if (Array.isArray(schema) && /^\d{1,9}$/.test(key)) {
      schema = schema[Number(key)];
      path.push(Number(key));
    } else {
      schema = isSchemaObject(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;
      path.push(key);
    }
  }
  if (schema === undefined) throw new UnsupportedSchema(at, "its target does not exist.");
  return { schema, path };
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}
