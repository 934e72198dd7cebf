import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { complete } from "./ask.ts";
import { HeldLoads } from "./held-loads.ts";
import { DEMO_MODEL, readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

const loads = new HeldLoads();
const folder = mkdtempSync(join(tmpdir(), "nightshift-routes-"));
const config = join(folder, "nightshift.yaml");
/** Routes by tools, and by what is ready. */
const ROUTES = `routes:
  tooled: { models: [day, night], rules: [{ when: { tools: true }, model: night }] }
  either: { models: [day, night], overflow: true }
`;
let server: TestServer;
beforeAll(async () => {
  writeFileSync(config, ROUTES);
  const models = ["--model", `day=${DEMO_MODEL}`, "--model", `night=${DEMO_MODEL}`, "--config", config];
  server = await readied(new TestServer(models, loads.env));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const MODELS = ["day", "night"];

test("both models are listed, each with a process of its own", async () => {
  const { data } = await server.client.models.list();
  expect(data.map(({ id }) => id)).toEqual([...MODELS, "tooled", "either"]);
  expect(server.enginePids).toHaveLength(2);
});

test("both models answer concurrently, with separate metrics", async () => {
  const asked = Array.from({ length: 12 }, (_, i) => MODELS[i % 2]!);
  const answers = await Promise.all(asked.map((model) => complete(server.client, "Capital of Greece?", { model })));
  expect(answers.map(({ model }) => model)).toEqual(asked);
  for (const { choices } of answers) expect(choices[0]!.message.content).toBe("The capital of Greece is Athens.");
  const metrics = await server.metrics();
  for (const model of MODELS) {
    expect(metrics.sum("nightshift_requests_total", { model, status: "ok" })).toBe(6);
    expect(metrics.sum("nightshift_step_seconds_count", { model })).toBeGreaterThan(0);
  }
});

test("a route's requests go to the model of the first rule that holds, and say so", async () => {
  const tools = [{ type: "function" as const, function: { name: "look_up" } }];
  const ask = (extra: object) =>
    server.client.chat.completions
      .create({ model: "tooled", messages: [{ role: "user", content: "Hello!" }], max_tokens: 4, ...extra })
      .withResponse();
  const plain = await ask({});
  expect(plain.data.model).toBe("day");
  expect(plain.response.headers.get("x-nightshift-route")).toBe("tooled=day;%20first");
  const tooled = await ask({ tools });
  expect(tooled.data.model).toBe("night");
  expect(tooled.response.headers.get("x-nightshift-route")).toBe("tooled=night;%20rule%201");
  const direct = await complete(server.client, "Hello!", { model: "day" });
  expect(direct.model).toBe("day");
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_routed_requests_total", { model: "night", status: "rule 1" })).toBe(1);
});

test("a route serves Ollama's API by the same rules, also by its name with a tag", async () => {
  const tools = [{ type: "function", function: { name: "look_up" } }];
  const ask = async (model: string, extra: object) => {
    const body = { model, stream: false, options: { num_predict: 4 }, ...extra };
    const messages = [{ role: "user", content: "Hello!" }];
    const response = await fetch(`${server.origin}/api/chat`, {
      method: "POST",
      body: JSON.stringify({ ...body, messages }),
    });
    expect(await response.json()).toMatchObject({ model, done: true });
    return response.headers.get("x-nightshift-route");
  };
  expect(await ask("tooled", {})).toBe("tooled=day;%20first");
  expect(await ask("tooled:latest", { tools })).toBe("tooled=night;%20rule%201");
  expect(await ask("day", {})).toBeNull();
});

test("the death of one engine leaves the other serving; only /ready?strict turns 503", async () => {
  const { pid } = server.logged("Engine process started").find(({ model }) => model === "day")!;
  loads.hold();
  process.kill(Number(pid), "SIGKILL");
  const strict = async () => (await fetch(`${server.origin}/ready?strict`)).status;
  await until("/ready?strict to be 503", async () => (await strict()) === 503);
  expect((await server.ready()).status).toBe(200);
  const { choices } = await complete(server.client, "Capital of Egypt?", { model: "night" });
  expect(choices[0]!.message.content).toBe("The capital of Egypt is Cairo.");
  // A route with overflow goes on with the next model; a name of the dead one is refused.
  expect((await complete(server.client, "Capital of Egypt?", { model: "either" })).model).toBe("night");
  await expect(
    server.client.chat.completions.create(
      { model: "day", messages: [{ role: "user", content: "Hello!" }] },
      { maxRetries: 0 },
    ),
  ).rejects.toMatchObject({ status: 503 });
  loads.release();
  await until("/ready?strict to be 200", async () => (await strict()) === 200);
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_engine_restarts_total", { model: "day" })).toBe(1);
  expect(metrics.sum("nightshift_engine_restarts_total", { model: "night" })).toBe(0);
});
