import fc from "fast-check";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { randomSchema } from "../unit/grammar/random-schema.ts";
import { schemaCheck } from "../unit/grammar/schema-check.ts";
import { ask, complete, type Options, stream } from "./ask.ts";
import { OVER_UPSTREAM, startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

function jsonSchema(schema: Record<string, unknown>): Options {
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } };
}

const PERSON: Record<string, unknown> = {
  type: "object",
  properties: { name: { type: "string", maxLength: 20 }, age: { type: "integer", minimum: 0, maximum: 150 } },
  required: ["name", "age"],
  additionalProperties: false,
};

describe("json_schema", () => {
  test("answers pass arbitrary schemas, at any seed and temperature", async () => {
    let ended = 0;
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(randomSchema, fc.nat(), fc.constantFrom(0, 0.7, 2), async (schema, seed, temperature) => {
        const options: Options = { ...jsonSchema(schema), seed, temperature, n: 4, max_tokens: 250 };
        const { choices } = await complete(server.client, "Tell me about Ann, who is 31.", options);
        const check = schemaCheck(schema);
        for (const { message, finish_reason } of choices) {
          if (finish_reason === "length") {
            cut++;
            continue;
          }
          ended++;
          expect(check(JSON.parse(message.content!)), `${message.content} by ${JSON.stringify(schema)}`).toBeNull();
        }
      }),
      // The grammar is that of the second server, which this suite tests by itself.
      { numRuns: OVER_UPSTREAM ? 5 : 25 },
    );
    expect(ended).toBeGreaterThan(cut);
    // No schema has ended the engine.
    expect((await server.metrics()).sum("nightshift_engine_restarts_total")).toBe(0);
  });

  test("a streamed answer equals the complete one", async () => {
    const options = jsonSchema(PERSON);
    const whole = await ask(server.client, "Ann is 31 years old.", options);
    let streamed = "";
    let reason: string | null = null;
    for await (const { choices } of await stream(server.client, "Ann is 31 years old.", options)) {
      streamed += choices[0]?.delta.content ?? "";
      reason = choices[0]?.finish_reason ?? reason;
    }
    expect(streamed).toBe(whole);
    expect(reason).toBe("stop");
    expect(schemaCheck(PERSON)(JSON.parse(whole))).toBeNull();
  });

  test("the SDK's helper parses the answer", async () => {
    const Answer = z.object({
      kind: z.enum(["cat", "dog"]),
      legs: z.int().min(0).max(4),
      names: z.array(z.string().max(8)).max(2),
      mail: z.email(),
      born: z.iso.date().nullable(),
    });
    const completion = await server.client.chat.completions.parse({
      model: "demo",
      messages: [{ role: "user", content: "Which animal is it?" }],
      response_format: zodResponseFormat(Answer, "animal"),
      temperature: 1,
      seed: 5,
    });
    expect(Answer.safeParse(completion.choices[0]!.message.parsed).success).toBe(true);
  });

  test("only max_tokens cuts a long answer", async () => {
    const { choices } = await complete(server.client, "Hello", {
      ...jsonSchema({ type: "array", items: PERSON, minItems: 9 }),
      max_tokens: 5,
    });
    expect(choices[0]!.finish_reason).toBe("length");
  });
});

test("json_object makes the answer an object", async () => {
  const options: Options = { response_format: { type: "json_object" }, temperature: 1, seed: 3, max_tokens: 300 };
  const { choices } = await complete(server.client, "Ann is 31 years old.", options);
  expect(choices[0]!.message.content).toMatch(/^\{/);
  if (choices[0]!.finish_reason === "stop") expect(JSON.parse(choices[0]!.message.content!)).toBeTypeOf("object");
});

describe("grammar", () => {
  const grammar = (gbnf: string, more: Options = {}): Options => ({ ...more, ...({ grammar: gbnf } satisfies object) });

  test.each([
    ["one of two words", 'root ::= "yes" | "no"', {}, /^(yes|no)$/],
    ["characters of several bytes", 'root ::= "é" [😀-😂]{2}', { temperature: 2 }, /^é[😀-😂]{2}$/u],
    ["nothing that it would rather say", "root ::= [^a-zA-Z0-9]{3,5}", { temperature: 1 }, /^[^a-zA-Z0-9]{3,5}$/u],
    ["a token that a bias forbids is not drawn", 'root ::= "yes" | "no"', { logit_bias: { 121: -100 } }, /^(yes|no)$/],
    ["an end that is ignored", 'root ::= "a" | "bb"', { ignore_eos: true, min_tokens: 9, max_tokens: 20 }, /^(a|bb)$/],
  ])("%s", async (_, gbnf, more, expected) => {
    const { choices } = await complete(server.client, "Is it?", grammar(gbnf, more));
    expect(choices[0]!.message.content).toMatch(expected);
    expect(choices[0]!.finish_reason).toBe("stop");
  });

  test("a stop string ends it earlier", async () => {
    expect(await ask(server.client, "Hello", grammar('root ::= "one, two, three"', { stop: ", t" }))).toBe("one");
  });

  test("applies to completions", async () => {
    const body = { model: "demo", prompt: ["a", "b"], temperature: 0, grammar: 'root ::= "x" [0-9]' };
    const { choices } = await server.client.completions.create(body);
    for (const { text } of choices) expect(text).toMatch(/^x[0-9]$/);
  });

  test("each choice follows it separately, and equal seeds give equal answers", async () => {
    const options = grammar("root ::= [a-z]{2} [0-9]{4}", { n: 6, seed: 7, temperature: 2 });
    const [one, two] = await Promise.all([
      complete(server.client, "x", options),
      complete(server.client, "x", options),
    ]);
    const texts = one.choices.map(({ message }) => message.content);
    for (const text of texts) expect(text).toMatch(/^[a-z]{2}[0-9]{4}$/);
    expect(new Set(texts).size).toBeGreaterThan(1);
    expect(two.choices.map(({ message }) => message.content)).toEqual(texts);
  });

  test("an ambiguous grammar is enforced, without a cost to other requests", async () => {
    const others = ask(server.client, "Count from 3 to 12.");
    const gbnf = 'root ::= "a" root "x" | "a" root "y" | "b"';
    const { choices } = await complete(server.client, "x", grammar(gbnf, { max_tokens: 60, logit_bias: { 97: 50 } }));
    expect(choices[0]!.message.content).toMatch(/^a{5,}(b[xy]*)?$/);
    expect(await others).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  });

  test.skipIf(OVER_UPSTREAM)("a grammar without a token to draw fails its own request only", async () => {
    const others = ask(server.client, "Count from 3 to 12.");
    const stuck = complete(server.client, "x", grammar('root ::= ""', { ignore_eos: true }));
    await expect(stuck).rejects.toMatchObject({ status: 400, code: "grammar_dead_end" });
    expect(await others).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  });
});

describe("a keyword that cannot be enforced is a 400 that names it", () => {
  const format = (schema: unknown) => ({
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
  });
  test.each<[string, Record<string, unknown>, string, string]>([
    [
      "a keyword",
      format({ type: "object", properties: { a: { type: "array", uniqueItems: true } } }),
      "response_format.json_schema.schema.properties.a.uniqueItems",
      "unsupported_value",
    ],
    [
      "a huge array",
      format({ type: "array", maxItems: 1e9 }),
      "response_format.json_schema.schema.maxItems",
      "unsupported_value",
    ],
    [
      "patterns that exclude each other",
      format({ allOf: [{ type: "string", pattern: "^a" }, { pattern: "^b" }] }),
      "response_format.json_schema.schema.allOf[1].pattern",
      "unsupported_value",
    ],
    [
      "a name",
      { response_format: { type: "json_schema", json_schema: { name: "a b" } } },
      "response_format.json_schema.name",
      "invalid_value",
    ],
    ["a type", { response_format: { type: "xml" } }, "response_format.type", "invalid_value"],
    ["a left-recursive grammar", { grammar: 'root ::= root "a" | "b"' }, "grammar", "invalid_value"],
    ["a grammar that grows", { grammar: 'root ::= (("a"{1000}){1000}){1000}' }, "grammar", "invalid_value"],
    ["two at once", { grammar: 'root ::= "a"', response_format: { type: "json_object" } }, "grammar", "invalid_value"],
    ["a schema by itself", { json_schema: { not: {} } }, "json_schema.not", "unsupported_value"],
  ])("%s", async (_, fields, param, code) => {
    const body = { model: "demo", messages: [{ role: "user", content: "x" }], ...fields };
    const response = await server.post("/v1/chat/completions", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param, code, type: "invalid_request_error" } });
    expect(await ask(server.client, "Count from 3 to 5.")).toBe("3, 4, 5");
  });
});
