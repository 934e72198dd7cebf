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
    ["not", { properties: { a: { not: { type: "null" } } } }, "properties.a.not"],
    ["uniqueItems", { type: "array", uniqueItems: true }, "uniqueItems"],
    ["patternProperties", { patternProperties: { "^a": {} } }, "patternProperties"],
    ["names by a pattern", { propertyNames: { pattern: "^a" } }, "propertyNames"],
    ["names of no properties", { type: "object", propertyNames: false }, "propertyNames"],
    ["names that leave a property out", { properties: { a: {} }, propertyNames: { enum: ["b"] } }, "propertyNames"],
    ["a format that is not known", { type: "string", format: "color" }, "format"],
    ["a name of a pattern without it", { type: "string", format: "includes" }, "format"],
    ["a lookahead", { type: "string", pattern: "^(?=a)" }, "pattern"],
    ["a back reference", { type: "string", pattern: "(a)\\1" }, "pattern"],
    ["a text that is not a regular expression", { type: "string", pattern: "(" }, "pattern"],
    ["a pattern with a huge repetition", { type: "string", pattern: "^a{100000}$" }, "pattern"],
    ["a huge array", { type: "array", maxItems: 1e9 }, "maxItems"],
    ["a length beside a pattern", { type: "string", pattern: "a", maxLength: 3 }, "maxLength"],
    ["a remote reference", { $ref: "https://example.com/x.json" }, "$ref"],
    ["a reference to nothing", { $ref: "#/$defs/x" }, "$ref"],
    ["a reference to the prototype", { $ref: "#/__proto__" }, "$ref"],
    [
      "a reference to itself alone",
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, {}] } } },
      "$defs.a.anyOf.0.$ref",
    ],
    ["schemas that may overlap", { oneOf: [{ type: "integer" }, { type: "number" }] }, "oneOf"],
    ["no value at all", { type: "string", enum: [1] }, "enum"],
    ["bounds without a number between", { type: "integer", minimum: 3, maximum: 2 }, "maximum"],
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
