/** A JSON schema from outside: an object of keywords, or a boolean. */
export type JsonSchema = boolean | SchemaObject;
export type SchemaObject = { readonly [keyword: string]: unknown };
export type SchemaPath = readonly (string | number)[];

/** Keywords that affect validity and that no grammar here can enforce. */
export const UNENFORCEABLE: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef"]);

/** Keywords that are converted, by the type of value that they constrain. */
export const ASSERTIONS = {
  any: ["$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then", "type"],
  array: [
    ...["additionalItems", "contains", "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems"],
    ...["unevaluatedItems", "uniqueItems"],
  ],
  number: ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"],
  object: [
    ...["additionalProperties", "dependencies", "dependentRequired", "dependentSchemas", "maxProperties"],
    ...["minProperties", "patternProperties", "properties", "propertyNames", "required", "unevaluatedProperties"],
  ],
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
