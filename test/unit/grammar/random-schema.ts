import fc from "fast-check";

export type TestSchema = Record<string, unknown>;

const name = fc.constantFrom("a", "b", "ab", 'q"', "é", "name");
const least = fc.integer({ min: 0, max: 3 });

const string = fc.oneof(
  fc.constant({ type: "string" }),
  fc.tuple(least, least).map(([min, more]) => ({ type: "string", minLength: min, maxLength: min + more })),
  fc.constantFrom("^[a-c]{2,4}$", "^(yes|no)$", "\\d", "^[^x]*$").map((pattern) => ({ type: "string", pattern })),
  fc.constantFrom("date", "uuid", "ipv4").map((format) => ({ type: "string", format })),
);

const number = fc
  .record({
    type: fc.constantFrom("integer", "number"),
    low: fc.integer({ min: -200, max: 200 }),
    span: fc.integer({ min: 1, max: 300 }),
    kind: fc.constantFrom("closed", "open", "free"),
  })
  .map(({ type, low, span, kind }): TestSchema => {
    if (kind === "closed") return { type, minimum: low, maximum: low + span };
    return kind === "open" ? { type, exclusiveMinimum: low, exclusiveMaximum: low + span + 1 } : { type };
  });

const leaf: fc.Arbitrary<TestSchema> = fc.oneof(
  string,
  number,
  fc.constantFrom<TestSchema>({ type: "boolean" }, { type: "null" }, { enum: ["x", 2, null] }, { const: "k" }),
);

/** Schemas of a few levels whose shortest values are short. */
export const randomSchema: fc.Arbitrary<TestSchema> = fc.letrec<{ schema: TestSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc
      .record({ items: tie("schema"), least, more: least })
      .map(({ items, least: min, more }) => ({ type: "array", items, minItems: min, maxItems: min + more })),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
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
