import { arrayRule } from "./array-rules.ts";
import type { GrammarBuilder } from "./builder.ts";
import { disjoint } from "./disjoint.ts";
import {
  ASSERTIONS,
  assertions,
  isSchemaObject,
  type JsonSchema,
  type SchemaObject,
  type SchemaPath,
  UNENFORCEABLE,
} from "./keywords.ts";
import { oneOf } from "./literal.ts";
import { numberRule } from "./number-rules.ts";
import { objectRule } from "./object-rules.ts";
import { mergeSchemas } from "./schema-merge.ts";
import { resolvePointer } from "./schema-reference.ts";
import { stringRule } from "./string-rules.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

interface SchemaOptions {
  /** True if the value must be an object, also where the schema allows others. */
  object?: boolean;
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
type Type = (typeof TYPES)[number];

/** Most nested schemas, references included; a body has at most 64 levels itself. */
const MOST_DEPTH = 128;
/** Most conversions of schemas. */
const MOST_SCHEMAS = 10_000;
const MOST_ENUM_VALUES = 1000;
const MOST_ONE_OF = 256;

/**
 * Adds the rules of a JSON schema, whose local references are relative to it.
 *
 * @returns the name of its rule
 * @throws UnsupportedSchema with the keyword and its path
 */
export function schemaRule(grammar: GrammarBuilder, schema: JsonSchema, options: SchemaOptions = {}): string {
  return grammar.rule("schema", new SchemaRules(grammar, schema, options).whole());
}

/** Converts one schema, with the targets of its references. */
class SchemaRules {
  readonly #grammar: GrammarBuilder;
  readonly #root: JsonSchema;
  readonly #options: SchemaOptions;
  /** The rule of each reference. */
  readonly #references = new Map<string, string>();
  /** References followed since the beginning of the present value: following one of them again would not terminate. */
  #following: readonly string[] = [];
  #depth = 0;
  #schemas = 0;
  #enumValues = 0;

  constructor(grammar: GrammarBuilder, root: JsonSchema, options: SchemaOptions) {
    this.#grammar = grammar;
    this.#root = root;
    this.#options = options;
  }

  /** @throws UnsupportedSchema */
  whole(): string {
    if (!this.#options.object || !isSchemaObject(this.#root)) return this.#convert(this.#root, []);
    const { type } = this.#root;
    if (type !== undefined && type !== "object") throw new UnsupportedSchema(["type"], "it must be 'object' here.");
    return this.#convert({ ...this.#root, type: "object" }, []);
  }

  #convert(schema: unknown, path: SchemaPath): string {
    if (++this.#schemas > MOST_SCHEMAS) throw new UnsupportedSchema([], "its grammar is too large.");
    if (this.#depth >= MOST_DEPTH) throw new UnsupportedSchema(path, `it is nested deeper than ${MOST_DEPTH} schemas.`);
    this.#depth++;
    try {
      if (schema === true) return this.#grammar.json.value;
      if (schema === false) throw new UnsupportedSchema(path, "no value matches 'false'.");
      if (!isSchemaObject(schema)) throw new UnsupportedSchema(path, "expected an object or a boolean.");
      return this.#object(schema, path);
    } finally {
      this.#depth--;
    }
  }

  #object(schema: SchemaObject, path: SchemaPath): string {
    const asserted = assertions(schema);
    for (const keyword of asserted) {
      const harmless = UNENFORCEABLE.get(keyword);
      if (harmless !== undefined && !harmless(schema[keyword])) {
        throw new UnsupportedSchema([...path, keyword], "it cannot be enforced.");
      }
    }
    const rest = asserted.filter((keyword) => !UNENFORCEABLE.has(keyword));
    if (schema.$ref !== undefined && rest.length === 1) return this.#reference(schema.$ref, path);
    if (schema.$ref !== undefined || schema.allOf !== undefined) return this.#merged(schema, path);
    if (schema.anyOf !== undefined || schema.oneOf !== undefined) return this.#alternatives(schema, path);
    if (schema.const !== undefined || schema.enum !== undefined) return this.#values(schema, path, rest);
    return this.#typed(schema, path);
  }

  #reference(reference: unknown, path: SchemaPath): string {
    const { schema, path: at } = resolvePointer(this.#root, reference, path);
    const key = String(reference);
    const known = this.#references.get(key);
    if (this.#following.includes(key)) throw new UnsupportedSchema([...path, "$ref"], "it refers to itself endlessly.");
    if (known !== undefined) return known;
    const name = this.#grammar.reserve(String(at.at(-1) ?? "schema"));
    this.#references.set(key, name);
    const before = this.#following;
    this.#following = [...before, key];
    this.#grammar.define(name, this.#convert(schema, at));
    this.#following = before;
    return name;
  }

  /** The conjunction of several schemas: `$ref`, `allOf` and the keywords beside them. */
  #merged(schema: SchemaObject, path: SchemaPath): string {
    const { $ref, allOf, ...beside } = schema;
    const parts: [unknown, SchemaPath][] = [];
    if ($ref !== undefined) {
      const target = resolvePointer(this.#root, $ref, path);
      parts.push([target.schema, target.path]);
    }
    if (allOf !== undefined) {
      if (!Array.isArray(allOf) || allOf.length === 0)
        throw new UnsupportedSchema([...path, "allOf"], "expected a list of schemas.");
      parts.push(...allOf.map((part: unknown, i): [unknown, SchemaPath] => [part, [...path, "allOf", i]]));
    }
    const bare = assertions(beside).length === 0;
    if (bare && parts.length === 1) return this.#convert(parts[0]![0], parts[0]![1]);
    let all: SchemaObject = beside;
    for (const [part, at] of parts) {
      if (part === true) continue;
      if (!isSchemaObject(part)) throw new UnsupportedSchema(at, "it cannot be combined with the schema beside it.");
      all = mergeSchemas(all, part, at);
    }
    return this.#convert(all, path);
  }

  #alternatives(schema: SchemaObject, path: SchemaPath): string {
    if (schema.anyOf !== undefined && schema.oneOf !== undefined) {
      throw new UnsupportedSchema([...path, "oneOf"], "it is not supported beside 'anyOf'.");
    }
    const keyword = schema.anyOf === undefined ? "oneOf" : "anyOf";
    const { [keyword]: branches, ...beside } = schema;
    if (!Array.isArray(branches) || branches.length === 0) {
      throw new UnsupportedSchema([...path, keyword], "expected a list of schemas.");
    }
    const bare = assertions(beside).length === 0;
    const schemas = branches.map((branch: unknown, i) => {
      if (bare) return branch;
      if (!isSchemaObject(branch)) throw new UnsupportedSchema([...path, keyword, i], "expected an object.");
      return mergeSchemas(beside, branch, [...path, keyword, i]);
    });
    const resolved = (branch: unknown): unknown => {
      for (let i = 0; i < MOST_DEPTH && isSchemaObject(branch) && typeof branch.$ref === "string"; i++) {
        branch = resolvePointer(this.#root, branch.$ref, path).schema;
      }
      return branch;
    };
    if (keyword === "oneOf" && branches.length > MOST_ONE_OF) {
      throw new UnsupportedSchema(
        [...path, "oneOf"],
        `at most ${MOST_ONE_OF} schemas can be compared with one another.`,
      );
    }
    if (keyword === "oneOf" && !disjoint(schemas.map(resolved), resolved)) {
      throw new UnsupportedSchema([...path, "oneOf"], "its schemas may overlap, and only one may match; use 'anyOf'.");
    }
    return oneOf(schemas.map((branch, i) => this.#convert(branch, [...path, keyword, i])));
  }

  #values(schema: SchemaObject, path: SchemaPath, asserted: readonly string[]): string {
    const keyword = schema.const === undefined ? "enum" : "const";
    const other = asserted.find((key) => !["const", "enum", "type"].includes(key));
    if (other !== undefined) throw new UnsupportedSchema([...path, other], `it is not supported beside '${keyword}'.`);
    if (schema.enum !== undefined && !Array.isArray(schema.enum)) {
      throw new UnsupportedSchema([...path, "enum"], "expected a list of values.");
    }
    this.#enumValues += schema.enum?.length ?? 1;
    if (this.#enumValues > MOST_ENUM_VALUES) {
      throw new UnsupportedSchema(
        [...path, keyword],
        `at most ${MOST_ENUM_VALUES} values in one schema can be enforced.`,
      );
    }
    const types = schema.type === undefined ? null : typesOf(schema.type, path);
    const listed = new Set((schema.enum ?? [schema.const]).map((value: unknown) => JSON.stringify(value)));
    const texts = [...listed].filter((text): text is string => {
      if (schema.const !== undefined && text !== JSON.stringify(schema.const)) return false;
      return types === null || types.some((type) => isOfType(JSON.parse(String(text)), type));
    });
    if (texts.length === 0)
      throw new UnsupportedSchema([...path, keyword], "none of its values is allowed by the other keywords.");
    return oneOf(texts.map((text) => this.#grammar.value(JSON.parse(text))));
  }

  #typed(schema: SchemaObject, path: SchemaPath): string {
    const types = schema.type === undefined ? inferred(schema) : typesOf(schema.type, path);
    if (types === null) return this.#grammar.json.value;
    return oneOf(types.map((type) => this.#rule(type, schema, path)));
  }

  #rule(type: Type, schema: SchemaObject, path: SchemaPath): string {
    const grammar = this.#grammar;
    const below = (inner: unknown, at: SchemaPath) => {
      const before = this.#following;
      this.#following = [];
      const rule = this.#convert(inner, at);
      this.#following = before;
      return rule;
    };
    switch (type) {
      case "object":
        return objectRule(grammar, schema, path, below);
      case "array":
        return arrayRule(grammar, schema, path, below);
      case "string":
        return grammar.rule("string", stringRule(grammar, schema, path));
      case "number":
      case "integer":
        return numberRule(grammar, schema, path, type === "integer");
      case "boolean":
        return grammar.json.boolean;
      case "null":
        return '"null"';
    }
  }
}

/** The type that the keywords of a schema without `type` constrain; null for any. */
function inferred(schema: SchemaObject): Type[] | null {
  for (const type of ["object", "array", "string", "number"] as const) {
    if (ASSERTIONS[type].some((keyword) => schema[keyword] !== undefined)) return [type];
  }
  return null;
}

function typesOf(type: unknown, path: SchemaPath): Type[] {
  const list: unknown[] = Array.isArray(type) ? type : [type];
  const known = TYPES.filter((name) => list.includes(name));
  if (list.length === 0 || !list.every((name) => TYPES.some((type) => type === name))) {
    throw new UnsupportedSchema([...path, "type"], `expected ${TYPES.join(", ")}, or a list of these.`);
  }
  return known.includes("number") ? known.filter((name) => name !== "integer") : known;
}

function isOfType(value: unknown, type: Type): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isSchemaObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
