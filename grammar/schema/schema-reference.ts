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
  checkBase(root, from);
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

/** Within a schema with an `$id` of its own, references are relative to it, and not to the root. @throws UnsupportedSchema */
function checkBase(root: JsonSchema, from: SchemaPath): void {
  let schema: unknown = root;
  for (const key of from) {
    if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return;
    schema = Reflect.get(schema, key);
    if (isSchemaObject(schema) && typeof schema.$id === "string" && !schema.$id.startsWith("#")) {
      throw new UnsupportedSchema([...from, "$ref"], "references within a schema with an own '$id' are not supported.");
    }
  }
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}
