import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../openapi/api-error.ts";
import { chatRequest } from "../../../openapi/generation/chat.ts";
import { completionRequest } from "../../../openapi/generation/completions.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { narrowed } from "../../../openapi/narrowed-schema.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";

const schemas = [
  ["chat", chatRequest(DEFAULT_REQUEST_LIMITS), { messages: [{ role: "user", content: "Hello" }] }],
  ["completions", completionRequest(DEFAULT_REQUEST_LIMITS), { prompt: "Hello" }],
] as const;

describe.each(schemas)("a narrowed schema of %s", (_, schema, prompt) => {
  const outcome = (body: unknown, over: typeof schema) => {
    try {
      return validate(over, body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { code: error.code, param: error.param, message: error.message };
    }
  };
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, undefined, true, false, 0, 1, 0.5, -1, 2 ** 40, "", "text", "low", "auto", [], {}),
    fc.constantFrom<unknown>({ type: "text" }, { type: "json_schema" }, ["a"], [1], { 5: 1 }, { include_usage: true }),
  );
  const fields = fc.dictionary(fc.constantFrom(...Object.keys(schema.shape), "unknown", "a,b"), value, { maxKeys: 6 });

  test("accepts and refuses the same bodies as the whole schema, with the same messages", () => {
    const schemaFor = narrowed(schema);
    fc.assert(
      fc.property(fields, fc.boolean(), (some, sound) => {
        const body = sound ? { ...some, model: "demo", ...prompt } : some;
        expect(outcome(body, schemaFor(body))).toEqual(outcome(body, schema));
      }),
      { numRuns: 1000 },
    );
  });

  test("refuses a value that is not an object like the whole schema", () => {
    const schemaFor = narrowed(schema);
    for (const body of [null, 1, "text", [], undefined]) {
      expect(outcome(body, schemaFor(body))).toEqual(outcome(body, schema));
    }
  });

  test("is shared by bodies of the same fields, and has no other optional fields", () => {
    const schemaFor = narrowed(schema);
    const one = schemaFor({ model: "a", ...prompt, seed: 1, unknown: 2 });
    expect(schemaFor({ model: "b", ...prompt, seed: 2 })).toBe(one);
    expect(Object.keys(one.shape).sort()).toEqual(["model", ...Object.keys(prompt), "seed"].sort());
  });
});
