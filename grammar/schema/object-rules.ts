import type { Convert } from "./array-rules.ts";
import type { GrammarBuilder } from "./builder.ts";
import { assertions, isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";
import { otherNames } from "./other-names.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

const MOST_NAME = 256;
const MOST_NAMES = 1000;

/**
 * The right-hand side for the objects of a schema: its properties in the order of the schema, optional ones possibly
 * omitted, then others if they are allowed. As in OpenAI's strict schemas and in llama.cpp, a schema with `properties` and
 * without `additionalProperties` allows no others. Names that `propertyNames` lists are in the order of the list.
 */
export function objectRule(grammar: GrammarBuilder, schema: SchemaObject, path: SchemaPath, convert: Convert): string {
  const { space, comma } = grammar.json;
  const properties = propertiesOf(schema, path);
  const required = requiredOf(schema, path);
  const names = namesOf(schema, path);
  const named = names === null && (properties.length > 0 || required.length > 0);
  let other = otherProperties(schema, named, path);
  if (names !== null) {
    const known = new Set(properties.map(([name]) => name));
    if ([...known].some((name) => !names.has(name))) {
      throw new UnsupportedSchema([...path, "propertyNames"], "'properties' has other names.");
    }
    for (const name of names) if (other !== null && !known.has(name)) properties.push([name, other.schema, other.path]);
    other = null;
  }
  for (const name of required) {
    if (properties.some(([known]) => known === name)) continue;
    if (other === null)
      throw new UnsupportedSchema([...path, "required"], "it names a property that the schema does not allow.");
    properties.push([name, other.schema, other.path]);
  }
  if (properties.length === 0 && other?.schema === true) return grammar.json.object;

  const pairOf = (name: string, value: string) => `${name} ":" ${space} ${value}`;
  let alone = "";
  let after = "";
  if (other !== null) {
    const name = otherNames(
      grammar,
      properties.map(([known]) => known),
    );
    const pair = grammar.rule("pair", pairOf(name, convert(other.schema, other.path)));
    after = grammar.rule("more", `(${comma} ${pair})*`);
    alone = `(${pair} ${after})?`;
  }
  // From the last property to the first: the rest of the object with no property before it, and after another property.
  for (const [name, value, at] of properties.toReversed()) {
    const pair = grammar.rule("pair", pairOf(grammar.value(name), convert(value, at)));
    if (required.includes(name)) {
      alone = `${pair} ${after}`;
      after = `${comma} ${pair} ${after}`;
    } else {
      const skipped = alone;
      alone = `(${pair} ${after} | ${skipped === "" ? '""' : skipped})`;
      after = `(${comma} ${pair})? ${after}`;
    }
    alone = grammar.rule("first", alone);
    after = grammar.rule("next", after);
  }
  return grammar.rule("object", `"{" ${space} ${alone} ${space} "}"`);
}

function propertiesOf(schema: SchemaObject, path: SchemaPath): [name: string, schema: unknown, path: SchemaPath][] {
  const properties = schema.properties ?? {};
  if (!isSchemaObject(properties))
    throw new UnsupportedSchema([...path, "properties"], "expected an object of schemas.");
  return Object.entries(properties).map(([name, value]) => {
    checkLength(name, [...path, "properties"]);
    return [name, value, [...path, "properties", name]];
  });
}

/** The only names that an object may have; null for any. Clients write both forms for records. */
function namesOf(schema: SchemaObject, path: SchemaPath): Set<string> | null {
  const asked = schema.propertyNames ?? true;
  if (asked === true) return null;
  const at = [...path, "propertyNames"];
  const names = isSchemaObject(asked) ? asked.enum : null;
  const plain =
    isSchemaObject(asked) &&
    (asked.type ?? "string") === "string" &&
    assertions(asked).every((keyword) => keyword === "type" || keyword === "enum");
  if (plain && names === undefined) return null;
  if (!plain || !Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    throw new UnsupportedSchema(at, "only an 'enum' of names can be enforced.");
  }
  if (names.length > MOST_NAMES) throw new UnsupportedSchema(at, `there are more than ${MOST_NAMES} names.`);
  for (const name of names) checkLength(name, at);
  return new Set<string>(names);
}

function checkLength(name: string, path: SchemaPath): void {
  if (name.length > MOST_NAME) throw new UnsupportedSchema(path, `a name has more than ${MOST_NAME} characters.`);
}

function requiredOf(schema: SchemaObject, path: SchemaPath): string[] {
  const required = schema.required ?? [];
  if (Array.isArray(required) && required.every((name) => typeof name === "string"))
    return [...new Set<string>(required)];
  throw new UnsupportedSchema([...path, "required"], "expected a list of names.");
}

/** The schema of properties that `properties` does not name; null if they are not allowed. */
function otherProperties(
  schema: SchemaObject,
  named: boolean,
  path: SchemaPath,
): { schema: unknown; path: SchemaPath } | null {
  const other = schema.additionalProperties ?? !named;
  return other === false ? null : { schema: other, path: [...path, "additionalProperties"] };
}
