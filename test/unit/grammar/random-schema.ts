import fc from "fast-check";
import { schemaGrammar } from "../../../grammar/checked-grammar.ts";
import { UnsupportedSchema } from "../../../grammar/schema/unsupported-schema.ts";

export type TestSchema = Record<string, unknown>;

const name = fc.constantFrom("a", "b", "ab", 'q"', "é", "name");
const least = fc.integer({ min: 0, max: 3 });

const string = fc.oneof(
  fc.constant({ type: "string" }),
  fc.tuple(least, least).map(([min, more]) => ({ type: "string", minLength: min, maxLength: min + more })),
  fc.constantFrom("^[a-c]{2,4}$", "^(yes|no)$", "\\d", "^[^x]*$").map((pattern) => ({ type: "string", pattern })),
  fc.constantFrom("date", "uuid", "ipv4").map((format) => ({ type: "string", format })),
  fc
    .record({ pattern: fc.constantFrom("^[a-c]+$", "b", "^a|c$"), other: fc.constantFrom("c", "^[^b]"), least })
    .map(({ pattern, other, least: minLength }): TestSchema => {
      return { type: "string", pattern, not: { pattern: other }, minLength, maxLength: 6 };
    }),
  fc.constantFrom("a", "ab", "").map((value) => ({ type: "string", not: { const: value }, maxLength: 3 })),
);

const number = fc
  .record({
    type: fc.constantFrom("integer", "number"),
    low: fc.integer({ min: -200, max: 200 }),
    span: fc.integer({ min: 1, max: 300 }),
    kind: fc.constantFrom("closed", "open", "free", "multiple", "without"),
  })
  .map(({ type, low, span, kind }): TestSchema => {
    if (kind === "closed") return { type, minimum: low, maximum: low + span };
    if (kind === "multiple") return { type, minimum: low, multipleOf: type === "integer" ? (span % 30) + 1 : 0.25 };
    if (kind === "without") return { type, minimum: low, maximum: low + span, not: { enum: [low, low + 1] } };
    return kind === "open" ? { type, exclusiveMinimum: low, exclusiveMaximum: low + span + 1 } : { type };
  });

const leaf: fc.Arbitrary<TestSchema> = fc.oneof(
  string,
  number,
  fc.constantFrom<TestSchema>({ type: "boolean" }, { type: "null" }, { enum: ["x", 2, null] }, { const: "k" }),
);

/** The branches of a condition; an object literal with their names would look like a promise. */
function branches(...schemas: TestSchema[]): TestSchema {
  return Object.fromEntries(schemas.map((schema, i) => [["then", "else"][i]!, schema]));
}

/** Schemas of a few levels whose shortest values are short. */
const anySchema: fc.Arbitrary<TestSchema> = fc.letrec<{ schema: TestSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc
      .record({ items: tie("schema"), least, more: least })
      .map(({ items, least: min, more }) => ({ type: "array", items, minItems: min, maxItems: min + more })),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc
      .record({ enum: fc.uniqueArray(fc.constantFrom<unknown>("x", 1, null, true, [2]), { minLength: 3 }), least })
      .map(({ enum: values, least: minItems }) => ({
        type: "array",
        items: { enum: values },
        uniqueItems: true,
        minItems,
      })),
    fc.record({ items: tie("schema"), found: tie("schema"), least }).map(({ items, found, least: minContains }) => ({
      type: "array",
      items: { anyOf: [items, found] },
      contains: found,
      minContains,
      maxItems: 4,
    })),
    fc
      .record({ named: tie("schema"), matched: tie("schema"), least, more: least, open: fc.boolean() })
      .map((object) => ({
        type: "object",
        properties: { a: object.named, x: object.named },
        patternProperties: { "^x": object.matched, y$: { type: "null" } },
        additionalProperties: object.open && { type: "boolean" },
        minProperties: object.least,
        maxProperties: object.least + object.more + 1,
      })),
    fc
      .record({ value: tie("schema"), kind: fc.constantFrom<unknown>("x", 1, null), needs: fc.boolean() })
      .map((object) => ({
        type: "object",
        properties: { kind: { enum: ["x", 1, null] }, a: object.value, b: object.value },
        required: ["kind"],
        dependentRequired: object.needs ? { a: ["b"] } : {},
        if: { properties: { kind: { const: object.kind } } },
        ...branches({ required: ["a"] }, { not: { required: ["b"] } }),
        additionalProperties: false,
      })),
    fc.record({ base: tie("schema"), own: tie("schema"), required: fc.boolean() }).map(({ base, own, required }) => ({
      allOf: [{ type: "object", properties: { a: base }, required: required ? ["a"] : [] }],
      properties: { b: own },
      unevaluatedProperties: false,
    })),
    fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 2, max: 6 })).map(([minimum, multipleOf]) => ({
      oneOf: [
        { type: "integer", minimum },
        { type: "integer", multipleOf },
        { type: "string", maxLength: 3 },
      ],
    })),
    fc
      .uniqueArray(fc.tuple(name, tie("schema"), fc.boolean()), { maxLength: 4, selector: ([key]) => key })
      .map((properties) => ({
        type: "object",
        properties: Object.fromEntries(properties.map(([key, schema]) => [key, schema])),
        required: properties.filter(([, , required]) => required).map(([key]) => key),
        additionalProperties: false,
      })),
  ),
})).schema;

/**
 * Schemas that have a grammar: others are refused, mostly since no value matches. Each is read from its text, as a request's
 * is: two equal schemas within it are two objects then, which some keywords cannot be enforced beside.
 */
export const randomSchema: fc.Arbitrary<TestSchema> = anySchema.map(fromText).filter((schema) => {
  try {
    return schemaGrammar(schema) !== "";
  } catch (error) {
    if (error instanceof UnsupportedSchema) return false;
    throw error;
  }
});

function fromText(schema: TestSchema): TestSchema {
  return JSON.parse(JSON.stringify(schema));
}
