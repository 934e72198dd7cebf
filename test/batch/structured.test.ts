import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../api/server.ts";
import { schemaCheck } from "../unit/grammar/schema-check.ts";
import { chatLine, jsonl, reaches, results, submit } from "./batch-rig.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const SCHEMA: Record<string, unknown> = {
  type: "object",
  properties: { name: { type: "string", maxLength: 10 }, known: { type: "boolean" } },
  required: ["name", "known"],
  additionalProperties: false,
};

function held(schema: Record<string, unknown>): Record<string, unknown> {
  return {
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    max_tokens: 80,
    temperature: 1,
  };
}

test("a batch's lines follow their schemas", async () => {
  const lines = Array.from({ length: 8 }, (_, i) => chatLine(`q${i}`, "Who is Ann?", { ...held(SCHEMA), seed: i }));
  const made = await submit(server.client, jsonl(lines));
  const { output } = await results(server.client, await reaches(server.client, made.id, "completed"));
  expect(output).toHaveLength(8);
  const check = schemaCheck(SCHEMA);
  for (const { response } of output) {
    const { message, finish_reason } = response!.body.choices[0]!;
    expect(finish_reason).toBe("stop");
    expect(check(JSON.parse(message.content!))).toBeNull();
  }
});

test("a schema that cannot be enforced fails the batch at validation, by line and path", async () => {
  const bad = { ...SCHEMA, not: { format: "date" } };
  const made = await submit(server.client, jsonl([chatLine("a", "x", held(SCHEMA)), chatLine("b", "x", held(bad))]));
  const batch = await reaches(server.client, made.id, "failed");
  expect(batch.errors?.data).toMatchObject([
    { code: "invalid_request", line: 2, param: "body.response_format.json_schema.schema.not" },
  ]);
});
