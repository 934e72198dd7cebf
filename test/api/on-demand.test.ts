import { afterAll, beforeAll, expect, test } from "vitest";
import { readiness } from "../../openapi/resources/health.ts";
import { complete } from "./ask.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";
import { until } from "./until.ts";

let server: TestServer;
beforeAll(async () => {
  const models = ["--model", `day=${DEMO_MODEL}`, "--model", `night=${DEMO_MODEL}`];
  server = await startServer("--threads", "1", "--sequences", "4", "--keep-alive", "2s", ...models);
});
afterAll(() => server.stop());

async function states(): Promise<Record<string, string>> {
  const { models } = readiness.parse(await (await server.ready()).json());
  return Object.fromEntries(models.map(({ id, state }) => [id, state]));
}

test("no model is loaded before a request, and the server is ready", async () => {
  expect(server.enginePids).toHaveLength(0);
  expect((await server.ready()).status).toBe(200);
  expect(await states()).toEqual({ day: "unloaded", night: "unloaded" });
  const { data } = await server.client.models.list();
  expect(data).toMatchObject([
    { id: "day", nightshift: { state: "unloaded", context: null } },
    { id: "night", nightshift: { state: "unloaded", context: null } },
  ]);
});

test("requests wait for their model, which is loaded once and unloaded when idle", async () => {
  const asked = Array.from({ length: 4 }, () => complete(server.client, "Capital of Greece?", { model: "day" }));
  for (const { choices } of await Promise.all(asked)) {
    expect(choices[0]!.message.content).toBe("The capital of Greece is Athens.");
  }
  expect(server.logged("Engine process started")).toMatchObject([{ model: "day" }]);
  await until("the idle model to leave", async () => (await states()).day === "unloaded");
  expect(server.enginePids).toHaveLength(0);
  const again = await complete(server.client, "Capital of Egypt?", { model: "day" });
  expect(again.choices[0]!.message.content).toBe("The capital of Egypt is Cairo.");
  expect((await server.metrics()).sum("nightshift_engine_restarts_total")).toBe(0);
});

test("a batch loads its model", async () => {
  const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions" };
  const messages = [{ role: "user", content: "Capital of Greece?" }];
  const text = JSON.stringify({ ...line, body: { model: "night", messages } });
  const file = new File([text], "lines.jsonl");
  const input = await server.client.files.create({ purpose: "batch", file });
  const { id } = await server.client.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  const completed = async () => (await server.client.batches.retrieve(id)).status === "completed";
  await until("the batch to be completed", completed);
  expect((await server.client.batches.retrieve(id)).request_counts).toMatchObject({ completed: 1 });
});
