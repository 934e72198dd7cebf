/** A JSON schema from outside: an object of keywords, or a boolean. */
export type JsonSchema = boolean | SchemaObject;
export type SchemaObject = { readonly [keyword: string]: unknown };
export type SchemaPath = readonly (string | number)[];

/** Keywords that affect validity and that no grammar here can enforce, with a test for values that ask for nothing. */
export const UNENFORCEABLE: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["$dynamicRef", never],
  ["$recursiveRef", never],
  ["contains", never],
  ["dependencies", never],
  ["dependentRequired", never],
  ["dependentSchemas", never],
  ["else", never],
  ["if", never],
  ["maxContains", never],
  ["maxProperties", never],
  ["minContains", never],
  ["minProperties", (value) => value === 0],
  ["not", never],
  ["patternProperties", isEmpty],
  ["then", never],
  ["unevaluatedItems", (value) => value === true],
  ["unevaluatedProperties", (value) => value === true],
  ["uniqueItems", (value) => value === false],
]);

/** Keywords that are converted, by the type of value that they constrain. */
export const ASSERTIONS = {
  any: ["$ref", "allOf", "anyOf", "const", "enum", "oneOf", "type"],
  array: ["additionalItems", "items", "maxItems", "minItems", "prefixItems"],
  number: ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"],
  object: ["additionalProperties", "properties", "propertyNames", "required"],
  string: ["format", "maxLength", "minLength", "pattern"],
} as const;

const KNOWN = new Set<string>(Object.values(ASSERTIONS).flat());

/** The keywords of a schema that affect validity. Annotations and unknown keywords are ignored. */
export function assertions(schema: SchemaObject): string[] {
  return Object.keys(schema).filter((key) => KNOWN.has(key) || UNENFORCEABLE.has(key));
}

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function never(): boolean {
  return false;
}

function isEmpty(value: unknown): boolean {
  return isSchemaObject(value) && Object.keys(value).length === 0;
}
