import { describe, expect, test } from "vitest";
import type { JsonSchema } from "../../../grammar/schema/keywords.ts";
import { UnsupportedSchema } from "../../../grammar/schema/unsupported-schema.ts";
import { schemaReader } from "./reads.ts";

const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"],
  additionalProperties: false,
};
const TREE = { $ref: "#/$defs/tree", $defs: { tree: { type: "array", items: { $ref: "#/$defs/tree" } } } };
const KINDS = [
  { type: "object", properties: { kind: { const: "a" }, x: { type: "null" } }, required: ["kind", "x"] },
  { type: "object", properties: { kind: { const: "b" }, y: { type: "null" } }, required: ["kind", "y"] },
];

/** A condition; an object literal with a property of that name would look like a promise. */
function condition(...schemas: [when: JsonSchema, so: JsonSchema, otherwise?: JsonSchema]): Record<string, JsonSchema> {
  const keywords = ["if", "then", "else"];
  return Object.fromEntries(schemas.map((schema, i) => [keywords[i]!, schema ?? true]));
}

/** [case, schema, valid texts, invalid texts] */
const CASES: [string, JsonSchema, string[], string[]][] = [
  [
    "an object in the order of its properties",
    PERSON,
    ['{"name":"é\\n","age":3}', '{"name": ""}', '{\n  "name": "x"\n}'],
    [
      '{"age":3}',
      '{"age":3,"name":"x"}',
      '{"name":"x","age":3.5}',
      '{"name":"x","z":1}',
      '{"name":"x",}',
      '{"name":"x"} ',
    ],
  ],
  [
    "others than the named properties",
    { properties: { ab: { type: "null" } }, additionalProperties: { type: "boolean" } },
    ["{}", '{"ab":null,"a":true,"abc":false}', '{"b":true}'],
    ['{"ab":true}', '{"a":null}', '{"a":true,"ab":null}', '{"\\u0061b":true}'],
  ],
  [
    "a required property without a schema",
    { type: "object", required: ["a"], additionalProperties: true },
    ['{"a":[1,{}]}', '{"a":1,"b":2}'],
    ["{}", '{"b":2}'],
  ],
  [
    "a pattern that zod names",
    { type: "string", format: "ends_with", pattern: ".*é$" },
    ['"é"', '"aé"'],
    ['""', '"éa"'],
  ],
  [
    "a record",
    { type: "object", propertyNames: { type: "string" }, additionalProperties: { type: "null" } },
    ["{}", '{"a":null,"b":null}'],
    ['{"a":1}'],
  ],
  [
    "a record of listed names",
    {
      type: "object",
      propertyNames: { type: "string", enum: ["x", "y"] },
      additionalProperties: { type: "null" },
      required: ["x"],
    },
    ['{"x":null}', '{"x":null,"y":null}'],
    ["{}", '{"y":null}', '{"x":null,"z":null}', '{"x":1}'],
  ],
  ["a record whose names alone are listed", { propertyNames: { enum: ["x"] } }, ["{}", '{"x":[1]}'], ['{"y":1}', "1"]],
  ["any object", { type: "object" }, ["{}", '{"a":{"b":[1,"x",null]}}'], ["[]", "1"]],
  ["any value", {}, ["1", "[]", '"x"', "null"], ["", "nul"]],
  [
    "bounded arrays",
    { type: "array", items: { type: "boolean" }, minItems: 1, maxItems: 3 },
    ["[true]", "[true, false,true]"],
    ["[]", "[true,true,true,true]", "[1]"],
  ],
  [
    "first items",
    { type: "array", prefixItems: [{ type: "null" }, { type: "boolean" }], minItems: 1 },
    ["[null]", "[null,true]"],
    ["[]", "[true]", "[null,true,1]"],
  ],
  [
    "first items with others",
    { type: "array", prefixItems: [{ type: "null" }], items: { type: "integer" }, minItems: 2, maxItems: 3 },
    ["[null,1]", "[null,1,2]"],
    ["[null]", "[null,1,2,3]"],
  ],
  [
    "lengths in characters",
    { type: "string", minLength: 2, maxLength: 3 },
    ['"ab"', '"é😀\\n"'],
    ['"a"', '"abcd"', '"a\u0001b"'],
  ],
  ["halves of characters", { type: "string" }, ['"\\u00e9"', '"\\uD7FF"'], ['"\\ud83d"', '"\\u0000"']],
  ["values", { enum: ["a", 1, null, { b: [2] }] }, ['"a"', "1", "null", '{"b":[2]}'], ['"b"', "2"]],
  ["values of a type", { type: "string", enum: ["a", 1] }, ['"a"'], ["1"]],
  ["a constant", { const: 'q"\\' }, [JSON.stringify('q"\\')], ['"q"']],
  ["several types", { type: ["integer", "null"] }, ["-7", "null"], ["1.5", '"x"']],
  [
    "one of several",
    { anyOf: [{ type: "string" }, { type: "array", items: { type: "null" } }] },
    ['"x"', "[null,null]"],
    ["1", "[1]"],
  ],
  [
    "one of several that a property distinguishes",
    { oneOf: KINDS },
    ['{"kind":"a","x":null}', '{"kind":"b","y":null}'],
    ['{"kind":"a","y":null}'],
  ],
  [
    "several at once",
    {
      allOf: [
        { properties: { a: { type: "integer", minimum: 2 } } },
        { properties: { a: { type: "integer", maximum: 3 } }, required: ["a"] },
      ],
      type: "object",
    },
    ['{"a":2}', '{"a":3}'],
    ['{"a":1}', '{"a":4}', "{}"],
  ],
  ["a reference to itself", TREE, ["[]", "[[],[[]]]"], ["[1]", "["]],
  [
    "a reference with more beside it",
    { $ref: "#/$defs/n", maximum: 5, $defs: { n: { type: "integer", minimum: 4 } } },
    ["4", "5"],
    ["3", "6"],
  ],
  [
    "dates",
    { type: "string", format: "date" },
    ['"2026-11-21"', '"2024-02-29"'],
    ['"2026-02-29"', '"2026-13-01"', '"2026-04-31"'],
  ],
  [
    "times",
    { type: "string", format: "date-time" },
    ['"2026-11-21T23:59:59Z"', '"2026-11-21T00:00:00.5+01:30"'],
    ['"2026-11-21"', '"2026-11-21T24:00:00Z"'],
  ],
  ["identifiers", { type: "string", format: "uuid" }, ['"123e4567-e89b-42d3-a456-426614174000"'], ['"123e4567"']],
  ["addresses", { type: "string", format: "ipv4" }, ['"255.0.10.199"'], ['"256.0.0.1"', '"1.2.3"']],
  ["a format that is not known", { type: "string", format: "password" }, ['"x y"', '""'], ["1"]],
  ["a format of patterns without one", { type: "string", format: "includes" }, ['"x"'], ["1"]],
  [
    "a pattern and a length",
    { type: "string", pattern: "^[a-z]+(-[a-z]+)*$", minLength: 3, maxLength: 5 },
    ['"abc"', '"a-b"', '"ab-cd"'],
    ['"ab"', '"a--b"', '"ab-cde"', '"a-"'],
  ],
  [
    "two patterns",
    { type: "string", allOf: [{ pattern: "^a" }, { pattern: '"$' }] },
    ['"a\\""', '"abc\\""'],
    ['"a"', '"b\\""'],
  ],
  [
    "a format and a length",
    { type: "string", format: "ipv4", maxLength: 8 },
    ['"1.2.3.4"', '"10.0.0.1"'],
    ['"10.20.30.4"', '"1.2.3"'],
  ],
  [
    "a format and a pattern",
    { type: "string", format: "uuid", pattern: "^0" },
    ['"00000000-0000-0000-0000-000000000000"'],
    ['"10000000-0000-0000-0000-000000000000"'],
  ],
  [
    "patterns of names",
    {
      type: "object",
      patternProperties: { "^x-": { type: "integer" }, id$: { type: "string" } },
      properties: { a: {} },
    },
    ["{}", '{"a":[],"x-b":1}', '{"x-b":1,"bid":"c"}'],
    ['{"x-b":"c"}', '{"b":1}', '{"x-id":1}', '{"bid":1}', '{"\\u0078-b":"c"}'],
  ],
  [
    "patterns of names beside others",
    { type: "object", patternProperties: { "^x-": { type: "integer" } }, additionalProperties: { type: "null" } },
    ['{"b":null,"x-b":1,"c":null}'],
    ['{"b":1}', '{"x-b":null}'],
  ],
  [
    "a property that a pattern names too",
    {
      type: "object",
      properties: { ab: { minimum: 2 } },
      patternProperties: { "^a": { maximum: 3, type: "integer" } },
    },
    ['{"ab":2}', '{"ab":3,"ac":-5}'],
    ['{"ab":1}', '{"ab":4}', '{"ac":4}'],
  ],
  [
    "names by a pattern",
    { type: "object", propertyNames: { pattern: "^[a-z]{1,3}$" }, additionalProperties: { type: "null" } },
    ["{}", '{"abc":null,"a":null}'],
    ['{"abcd":null}', '{"A":null}', '{"":null}'],
  ],
  ["no names", { type: "object", propertyNames: false }, ["{}"], ['{"a":1}']],
  [
    "a property of which no value matches",
    { type: "object", properties: { a: false, b: {} } },
    ['{"b":1}'],
    ['{"a":1}'],
  ],
  [
    "counts of properties",
    { type: "object", properties: { a: {}, b: {}, c: {} }, minProperties: 1, maxProperties: 2 },
    ['{"a":1}', '{"b":1,"c":1}'],
    ["{}", '{"a":1,"b":1,"c":1}'],
  ],
  [
    "counts of any properties",
    { properties: { a: {} }, additionalProperties: { type: "null" }, minProperties: 2, maxProperties: 3 },
    ['{"a":null,"b":null}', '{"a":null,"b":null,"c":null}'],
    ['{"a":null}', '{"b":null,"c":null}', '{"b":null,"b":null}', '{"a":null,"b":null,"c":null,"d":null}'],
  ],
  ["multiples", { type: "integer", multipleOf: 15 }, ["0", "15", "-30", "1500", "105"], ["5", "1", "20", "-31"]],
  [
    "multiples within bounds",
    { type: "integer", multipleOf: 250, minimum: 1, maximum: 1000 },
    ["250", "1000"],
    ["0", "125", "1250"],
  ],
  [
    "multiples of a large power of ten",
    { type: "integer", multipleOf: 1_000_000 },
    ["0", "3000000"],
    ["300000", "1000001"],
  ],
  [
    "hundredths",
    { type: "number", multipleOf: 0.01, minimum: 0 },
    ["0.01", "12.5", "3", "1.10"],
    ["0.001", "-1", "1.015"],
  ],
  [
    "multiples within bounds that have no integer between them",
    { type: "number", multipleOf: 0.25, minimum: 0.1, maximum: 0.9 },
    ["0.25", "0.5", "0.750"],
    ["0.1", "1", "0.3"],
  ],
  ["two divisors", { type: "integer", allOf: [{ multipleOf: 4 }, { multipleOf: 6 }] }, ["12", "-24"], ["4", "6", "18"]],
  [
    "unique items of a few values",
    { type: "array", items: { enum: ["a", "b", "c"] }, uniqueItems: true, minItems: 1 },
    ['["a"]', '["c","a"]', '["b","a","c"]'],
    ["[]", '["a","a"]', '["a","b","c","a"]'],
  ],
  [
    "unique items of many values in the order of their list",
    { type: "array", items: { enum: Array.from({ length: 30 }, (_, i) => i) }, uniqueItems: true, maxItems: 3 },
    ["[]", "[3,7,29]"],
    ["[3,3]", "[0,1,2,3]", "[30]"],
  ],
  [
    "unique objects whose members are listed in two orders",
    {
      type: "array",
      prefixItems: [{ const: { b: 1, a: 2 } }],
      items: { enum: [{ a: 2, b: 1 }, 3] },
      uniqueItems: true,
    },
    ['[{"b":1,"a":2}]', '[{"b":1,"a":2},3]'],
    ['[{"b":1,"a":2},{"a":2,"b":1}]', '[{"b":1,"a":2},{"b":1,"a":2}]'],
  ],
  ["one item is unique", { type: "array", uniqueItems: true, maxItems: 1 }, ["[]", "[{}]"], ["[1,2]"]],
  [
    "items that have to occur",
    { type: "array", items: { type: "integer" }, contains: { minimum: 5 }, maxItems: 3 },
    ["[5]", "[1,2,9]", "[7,7]"],
    ["[]", "[1,2]", "[1,2,3,5]"],
  ],
  [
    "bounded matching items",
    { type: "array", items: { enum: [1, 2] }, contains: { const: 1 }, minContains: 1, maxContains: 2 },
    ["[1]", "[2,1,2,1]"],
    ["[2]", "[1,1,1]"],
  ],
  ["no type", { not: { type: ["string", "object"] } }, ["1", "null", "[]"], ['"a"', "{}"]],
  ["no integer", { type: ["number", "string"], not: { type: "integer" } }, ["1.5", '"a"'], ["1", "1.0"]],
  ["not a value", { type: "string", not: { enum: ["a", "ab"] } }, ['"b"', '"abc"', '""'], ['"a"', '"ab"', '"\\u0061"']],
  ["not a number", { type: "integer", not: { const: 5 } }, ["4", "55", "-5"], ["5"]],
  [
    "not a number that is written with an exponent",
    { type: "number", not: { const: 1e-7 } },
    ["0.000001", "1.0000001"],
    ["0.0000001"],
  ],
  // A double has near 16 digits: a reader takes the last ones for a whole number.
  [
    "not an integer, within a bound",
    { type: "number", minimum: 0, not: { multipleOf: 1 } },
    ["0.5", "1234567890.125"],
    ["1", "460912974990249.0154"],
  ],
  [
    "not a number, within bounds",
    { type: "number", minimum: 0.1, maximum: 0.30000000000000004, not: { const: 0.3 } },
    ["0.1", "0.29999999999999"],
    ["0.3", "0.29999999999999999"],
  ],
  [
    "a pattern with a hyphen before a set of characters",
    { type: "string", pattern: "^[+-\\d]$" },
    ['"+"', '"-"', '"5"'],
    ['","', '"."'],
  ],
  ["not a pattern", { type: "string", not: { pattern: "^/" } }, ['"a/"', '""'], ['"/a"', '"\\/a"']],
  ["not empty", { type: "array", not: { const: [] } }, ["[1]"], ["[]"]],
  [
    "not a property",
    { type: "object", properties: { a: {}, b: {} }, not: { required: ["a", "b"] } },
    ["{}", '{"a":1}', '{"b":1}'],
    ['{"a":1,"b":1}'],
  ],
  [
    "a condition",
    {
      type: "object",
      properties: { kind: { enum: ["a", "b"] }, x: { type: "integer" } },
      required: ["kind"],
      ...condition(
        { properties: { kind: { const: "a" } } },
        { required: ["x"] },
        { properties: { x: { minimum: 9 } } },
      ),
    },
    ['{"kind":"a","x":1}', '{"kind":"b"}', '{"kind":"b","x":9}'],
    ['{"kind":"a"}', '{"kind":"b","x":8}', '{"x":9}'],
  ],
  [
    "many conditions on one property",
    {
      type: "object",
      properties: { kind: { enum: Array.from({ length: 12 }, (_, i) => i) }, x: {} },
      required: ["kind"],
      allOf: Array.from({ length: 12 }, (_, i) => {
        return condition({ properties: { kind: { const: i } } }, { properties: { x: { const: i } } });
      }),
    },
    ['{"kind":3,"x":3}', '{"kind":11}'],
    ['{"kind":3,"x":4}', '{"x":3}'],
  ],
  [
    "a property that needs another",
    { type: "object", properties: { a: {}, b: {}, c: {} }, dependentRequired: { a: ["b"] } },
    ["{}", '{"c":1}', '{"a":1,"b":1}'],
    ['{"a":1}', '{"a":1,"c":1}'],
  ],
  [
    "schemas of which exactly one matches",
    {
      oneOf: [
        { type: "integer", minimum: 2 },
        { type: "integer", multipleOf: 3 },
      ],
    },
    ["2", "4", "0", "-3"],
    ["3", "6", "1"],
  ],
  [
    "the properties of a base first",
    {
      $defs: { base: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
      allOf: [{ $ref: "#/$defs/base" }, { properties: { name: { type: "string" } }, required: ["name"] }],
    },
    ['{"id":1,"name":"x"}'],
    ['{"name":"x","id":1}', '{"id":1}', '{"name":"x"}'],
  ],
  [
    "a base and more beside it that are recursive",
    {
      $defs: {
        node: { type: "object", properties: { next: { allOf: [{ $ref: "#/$defs/node" }] } } },
        named: { allOf: [{ $ref: "#/$defs/node" }], properties: { name: { type: "string" } } },
      },
      $ref: "#/$defs/named",
    },
    ['{"next":{"next":{}},"name":"x"}', "{}"],
    ['{"next":{"name":"x"}}'],
  ],
  [
    "a closed object beside another",
    {
      type: "object",
      allOf: [{ properties: { a: {} }, additionalProperties: false }, { properties: { b: {} } }],
    },
    ["{}", '{"a":1}'],
    ['{"b":1}', '{"a":1,"b":1}'],
  ],
  [
    "no property that no schema names",
    {
      type: "object",
      allOf: [{ properties: { a: { type: "null" } } }],
      properties: { b: {} },
      patternProperties: { "^c": {} },
      unevaluatedProperties: false,
    },
    ['{"a":null,"b":1,"cd":2}'],
    ['{"d":1}', '{"a":1}'],
  ],
  [
    "items beside first items of another schema",
    { type: "array", allOf: [{ prefixItems: [{ minimum: 3 }] }], items: { type: "integer", minimum: 5 } },
    ["[5]", "[5,5]", "[]"],
    ["[3,5]", "[4]"],
  ],
  [
    "no item that no schema describes",
    { type: "array", allOf: [{ prefixItems: [{ type: "null" }] }], unevaluatedItems: false },
    ["[]", "[null]"],
    ["[1]", "[null,1]"],
  ],
  [
    "listed values beside other keywords",
    { enum: ["a", "bb", 3, 4, null], minLength: 2, multipleOf: 2 },
    ['"bb"', "4", "null"],
    ['"a"', "3"],
  ],
  [
    "integers of 64 bits",
    { type: "integer" },
    ["1234567890123456", "9223372036854775807", "-9223372036854775808", "0"],
    ["9223372036854775808", "-9223372036854775809", "00", "01"],
  ],
  ["long identifiers", { type: "integer", minimum: 1 }, ["1", "1234567890123456789"], ["0", "-1"]],
  ["a pattern", { type: "string", pattern: "^(a|[b-d]{2})\\d*\\.$" }, ['"a."', '"bd12."'], ['"b."', '"a"', '"xa."']],
  ["a pattern anywhere", { type: "string", pattern: "b+" }, ['"abc"', '"b"', '"\\"b"'], ['"ac"', '""']],
  [
    "a pattern of what JSON escapes",
    { type: "string", pattern: '^[^a]\\n"$' },
    ['"\\\\\\n\\""', '"x\\n\\""'],
    ['"a\\n\\""', '"x\n\\""'],
  ],
];

describe("a schema's grammar", () => {
  test.each(CASES)("%s", (_, schema, good, bad) => {
    const reads = schemaReader(schema);
    for (const text of good) expect(reads(text), text).toBe(true);
    for (const text of bad) expect(reads(text), text).toBe(false);
  });
});

describe("bounds of numbers", () => {
  const integers = [
    -1000, -101, -100, -99, -11, -10, -9, -2, -1, 0, 1, 2, 9, 10, 11, 42, 99, 100, 101, 999, 1000, 54321,
  ];
  test.each([
    [{ minimum: -100, maximum: 42 }],
    [{ exclusiveMinimum: -1, exclusiveMaximum: 100 }],
    [{ minimum: 10 }],
    [{ maximum: -10 }],
    [{ minimum: 1.5, maximum: 99.5 }],
    [{ minimum: -9007199254740991, maximum: 9007199254740991 }],
    [{ minimum: -1e300, maximum: 1e300 }],
  ])("integers within %j", (bounds) => {
    const reads = schemaReader({ type: "integer", ...bounds });
    for (const value of integers) expect(reads(String(value)), String(value)).toBe(within(value, bounds));
    expect(reads("01")).toBe(false);
  });

  const decimals = [
    -2.5, -1.25, -1, -0.5, -0.001, 0, 0.001, 0.05, 0.5, 0.75, 0.999, 1, 1.001, 1.25, 2, 2.5, 10.01, 99.9,
  ];
  test.each([
    [{ minimum: 0, maximum: 1 }],
    [{ exclusiveMinimum: 0, exclusiveMaximum: 1 }],
    [{ minimum: 0.05, maximum: 2.5 }],
    [{ exclusiveMinimum: 0.5, maximum: 0.75 }],
    [{ minimum: -1.25 }],
    [{ exclusiveMaximum: -0.5 }],
    [{ minimum: -2, maximum: 0 }],
    [{ minimum: 0.1, maximum: 1e300 }],
  ])("numbers within %j", (bounds) => {
    const reads = schemaReader({ type: "number", ...bounds });
    for (const value of decimals) expect(reads(String(value)), String(value)).toBe(within(value, bounds));
  });
});

interface Bounds {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

function within(value: number, { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Bounds): boolean {
  return (
    value >= (minimum ?? -Infinity) &&
    value <= (maximum ?? Infinity) &&
    value > (exclusiveMinimum ?? -Infinity) &&
    value < (exclusiveMaximum ?? Infinity)
  );
}

describe("a schema that cannot be enforced is refused with its path", () => {
  const deep = (levels: number): JsonSchema => (levels === 0 ? {} : { anyOf: [deep(levels - 1)] });
  test.each<[string, JsonSchema, string]>([
    ["a negated format", { properties: { a: { not: { format: "date" } } } }, "properties.a.not"],
    ["a condition on a format", condition({ format: "date" }, { minLength: 1 }), "if"],
    ["a negated set of items", { not: { uniqueItems: true } }, "not"],
    ["an object that is not allowed", { type: "object", not: { const: { a: 1 } } }, "not"],
    ["unique items of any string", { type: "array", items: { type: "string" }, uniqueItems: true }, "uniqueItems"],
    ["unique items of anything", { type: "array", uniqueItems: true, maxItems: 2 }, "uniqueItems"],
    ["alternatives of names", { propertyNames: { anyOf: [{ pattern: "a" }, { pattern: "b" }] } }, "propertyNames"],
    [
      "many patterns of names",
      { patternProperties: Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, {}])) },
      "patternProperties.a",
    ],
    ["multiples of a large number", { type: "integer", multipleOf: 100_003 }, "multipleOf"],
    ["multiples of nothing", { type: "integer", multipleOf: 0 }, "multipleOf"],
    ["two properties of any name", { type: "object", minProperties: 2 }, "minProperties"],
    ["dynamic references", { $dynamicRef: "#node" }, "$dynamicRef"],
    ["two kinds of matching items", { contains: { const: 1 }, allOf: [{ contains: { const: 2 } }] }, "contains"],
    [
      "a required property that is not allowed",
      { required: ["b"], additionalProperties: false, properties: {} },
      "required",
    ],
    ["a text that is too short for its pattern", { type: "string", pattern: "^a{3}$", maxLength: 2 }, "maxLength"],
    [
      "a pattern with too many ways",
      { type: "string", pattern: "^(a{0,100}b{0,100}){0,50}$", maxLength: 99 },
      "maxLength",
    ],
    ["a long text of a pattern", { type: "string", pattern: "^a*b*$", minLength: 5000 }, "minLength"],
    ["a lookahead", { type: "string", pattern: "^(?=a)" }, "pattern"],
    ["a back reference", { type: "string", pattern: "(a)\\1" }, "pattern"],
    ["a text that is not a regular expression", { type: "string", pattern: "(" }, "pattern"],
    ["a pattern with a huge repetition", { type: "string", pattern: "^a{100000}$" }, "pattern"],
    ["a huge array", { type: "array", maxItems: 1e9 }, "maxItems"],
    ["a remote reference", { $ref: "https://example.com/x.json" }, "$ref"],
    ["a reference to nothing", { $ref: "#/$defs/x" }, "$ref"],
    [
      "a reference within a schema with an own $id",
      {
        properties: { a: { $id: "a.json", $defs: { b: { type: "null" } }, properties: { c: { $ref: "#/$defs/b" } } } },
        $defs: { b: {} },
      },
      "properties.a.properties.c.$ref",
    ],
    ["a reference to the prototype", { $ref: "#/__proto__" }, "$ref"],
    [
      "a reference to itself alone",
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, {}] } } },
      "$defs.a.anyOf.0.$ref",
    ],
    ["schemas that may overlap", { oneOf: [{ type: "string" }, { type: "string", format: "date" }] }, "oneOf"],
    ["many that may overlap", { oneOf: Array.from({ length: 9 }, (_, i) => ({ minLength: i })) }, "oneOf"],
    ["no value at all", { type: "string", enum: [1] }, "enum"],
    ["bounds without a number between", { type: "integer", minimum: 3, maximum: 2 }, "maximum"],
    ["a number in place of the schema of items", { type: "array", items: 0 }, "items"],
    ["a bound next to 0", { type: "number", minimum: 1e-300 }, "minimum"],
    ["false", { properties: { a: false }, required: ["a"] }, "properties.a"],
    ["a very long name", { properties: { ["n".repeat(300)]: {} } }, "properties"],
    ["too many to compare", { oneOf: Array.from({ length: 300 }, (_, i) => ({ const: i })) }, "oneOf"],
    ["too many values", { enum: Array.from({ length: 1001 }, (_, i) => i) }, "enum"],
    ["deeply nested schemas", deep(200), Array.from({ length: 128 }, () => "anyOf.0").join(".")],
    ["a repetition of repetitions", repeated(6), ""],
  ])("%s", (_, schema, path) => {
    expect(() => schemaReader(schema)).toThrow(
      path === ""
        ? /too large/
        : expect.objectContaining({ path: path.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key)) }),
    );
    if (path !== "") expect(() => schemaReader(schema)).toThrow(UnsupportedSchema);
  });

  function repeated(levels: number): JsonSchema {
    const prefixItems = Array.from({ length: 9 }, () => (levels === 0 ? true : repeated(levels - 1)));
    return { type: "array", prefixItems };
  }
});
