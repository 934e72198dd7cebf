import { afterAll, beforeAll, expect, test } from "vitest";
import { chatLine, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { complete } from "./ask.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  const names = ["--alias", "gpt-4o=org/demo", "--alias", "small=org/demo", "--unknown-model", "first"];
  server = await startServer("--model", `org/demo=${DEMO_MODEL}`, ...names);
});
afterAll(() => server.stop());

test("a model is found by its name, an alias or, if configured, any name", async () => {
  for (const model of ["org/demo", "gpt-4o", "small", "another-name", "__proto__"]) {
    const answer = await complete(server.client, "What is 7 + 8?", { model });
    expect([model, answer.model, answer.choices[0]!.message.content]).toEqual([model, "org/demo", "15"]);
  }
});

test("aliases are listed after the models, and can be retrieved", async () => {
  const { data } = await server.client.models.list();
  expect(data).toMatchObject([
    { id: "org/demo", nightshift: { alias_of: null } },
    { id: "gpt-4o", nightshift: { alias_of: "org/demo" } },
    { id: "small", nightshift: { alias_of: "org/demo" } },
  ]);
  const one = async (name: string) => (await fetch(`${server.origin}/v1/models/${name}`)).json();
  expect(await one("gpt-4o")).toMatchObject({ id: "gpt-4o", nightshift: { alias_of: "org/demo" } });
  expect(await one("org/demo")).toMatchObject({ id: "org/demo", nightshift: { alias_of: null } });
});

test("lines of a batch may use several names of one model", async () => {
  const lines = ["gpt-4o", "org/demo", "small", "another-name"].map((model) =>
    chatLine(model, "What is 7 + 8?", { model }),
  );
  const batch = await reaches(server.client, (await submit(server.client, jsonl(lines))).id, "completed");
  expect(Object(batch).model).toBe("org/demo");
  const { output } = await results(server.client, batch);
  expect(output.map(({ response }) => Object(response?.body).model)).toEqual(lines.map(() => "org/demo"));
});
