import { count } from "./keyword-numbers.ts";
import { assertions, isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";
import { derived, type Part } from "./part.ts";
import { nameList, schemaList, schemaMap } from "./schema-lists.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";
import { KINDS, namedTypes } from "./value-type.ts";

type Resolve = (reference: unknown, from: Part) => Part;
type Alternatives = Part[][];

/** Keywords whose negation stays a `not` of one keyword, which the rules of the types enforce. */
const ATOMIC: readonly string[] = ["const", "enum", "multipleOf", "pattern"];

/** Most schemas of a `oneOf`: each is compared with every other. */
const MOST_ONE_OF = 256;

/** @throws UnsupportedSchema for a `oneOf` of too many schemas */
export function checkOneOf(schemas: readonly unknown[], path: SchemaPath): void {
  if (schemas.length <= MOST_ONE_OF) return;
  throw new UnsupportedSchema(path, `at most ${MOST_ONE_OF} schemas can be compared with one another.`);
}

/** True for `not` with one keyword that the rules of the types enforce as it is. */
export function isAtomic(negated: unknown): negated is SchemaObject {
  if (!isSchemaObject(negated)) return false;
  const [keyword, ...others] = assertions(negated);
  return keyword !== undefined && others.length === 0 && ATOMIC.includes(keyword);
}

/**
 * The values that do not match a schema, as alternatives. A value fails a schema if it fails one of its keywords, and a
 * keyword for one type is failed only by values of that type.
 *
 * @param negated the schema, with the path of its `not` or of the keyword that needs its negation
 * @throws UnsupportedSchema for keywords whose negation cannot be enforced
 */
export function negation(negated: Part, resolve: Resolve): Alternatives {
  const { schema, path } = negated;
  if (schema === true) return [];
  if (schema === false) return [[]];
  if (!isSchemaObject(schema)) throw new UnsupportedSchema(path, "expected an object or a boolean.");
  return assertions(schema).flatMap((keyword) => failing(keyword, schema, negated, resolve));
}

function failing(keyword: string, schema: SchemaObject, negated: Part, resolve: Resolve): Alternatives {
  const { path } = negated;
  const only = (...schemas: unknown[]): Alternatives => [schemas.map((one) => derived(negated, one))];
  const each = (schemas: readonly unknown[]): Alternatives => schemas.flatMap((one) => only(one));
  const value = schema[keyword];
  switch (keyword) {
    case "$ref": {
      const target = resolve(value, negated);
      return [[{ ...derived(target, { not: target.schema }), path }]];
    }
    case "allOf":
      return each(schemaList(schema, keyword, path).map(([one]) => ({ not: one })));
    case "anyOf":
      return only(...schemaList(schema, keyword, path).map(([one]) => ({ not: one })));
    case "oneOf": {
      const all = schemaList(schema, keyword, path).map(([one]) => one);
      checkOneOf(all, path);
      const pairs = all.flatMap((one, i) => all.slice(i + 1).map((other) => ({ allOf: [one, other] })));
      return [...only(...all.map((one) => ({ not: one }))), ...each(pairs)];
    }
    case "not":
      return only(value);
    case "if": {
      const fails = (condition: unknown, then: unknown) => (then === undefined ? [] : only(condition, { not: then }));
      return [...fails(value, schema.then), ...fails({ not: value }, schema.else)];
    }
    case "type":
      return otherTypes(namedTypes(schema, path)!).flatMap((one) => only(one));
    case "const":
    case "enum":
      return only({ not: { [keyword]: value } });
    case "pattern":
      return only({ type: "string", not: { pattern: value } });
    case "multipleOf":
      return only({ type: "number", not: { multipleOf: value } });
    case "minimum":
      return only({ type: "number", exclusiveMaximum: value });
    case "maximum":
      return only({ type: "number", exclusiveMinimum: value });
    case "exclusiveMinimum":
      return only({ type: "number", maximum: value });
    case "exclusiveMaximum":
      return only({ type: "number", minimum: value });
    case "minLength":
    case "minItems":
    case "minProperties": {
      const least = count(schema, keyword, path)!;
      return least === 0 ? [] : only({ type: TYPE_OF[keyword], [keyword.replace("min", "max")]: least - 1 });
    }
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return only({ type: TYPE_OF[keyword], [keyword.replace("max", "min")]: count(schema, keyword, path)! + 1 });
    case "required":
      return each(
        nameList(value, [...path, keyword]).map((name) => ({ type: "object", properties: mapOf(name, false) })),
      );
    case "properties":
      return each(
        schemaMap(schema, keyword, path).map(([name, one]) => {
          return { type: "object", properties: mapOf(name, { not: one }), required: [name] };
        }),
      );
    case "contains": {
      const least = count(schema, "minContains", path) ?? 1;
      const most = count(schema, "maxContains", path);
      const fewer = least === 0 ? [] : [{ type: "array", contains: value, minContains: 0, maxContains: least - 1 }];
      const more = most === null ? [] : [{ type: "array", contains: value, minContains: most + 1 }];
      return each([...fewer, ...more]);
    }
    case "then":
    case "else":
    case "minContains":
    case "maxContains":
      // Of no effect without `if` or `contains`, with which they are negated.
      return [];
    default:
      throw new UnsupportedSchema(path, `the negation of '${keyword}' cannot be enforced.`);
  }
}

const TYPE_OF = {
  minLength: "string",
  maxLength: "string",
  minItems: "array",
  maxItems: "array",
  minProperties: "object",
  maxProperties: "object",
} as const;

function otherTypes(types: ReadonlySet<string>): SchemaObject[] {
  const others = KINDS.filter((kind) => !types.has(kind) && !(kind === "number" && types.has("integer")));
  const fractions = types.has("integer") && !types.has("number");
  return [
    ...(others.length === 0 ? [] : [{ type: others }]),
    ...(fractions ? [{ type: "number", not: { multipleOf: 1 } }] : []),
  ];
}

/** By entries: an assignment to `__proto__` would not create a property. */
function mapOf(name: string, schema: unknown): SchemaObject {
  return Object.fromEntries([[name, schema]]);
}
