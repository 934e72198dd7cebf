import { afterAll, beforeAll, expect, test } from "vitest";
import { complete } from "./ask.ts";
import { HeldLoads } from "./held-loads.ts";
import { DEMO_MODEL, readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

const loads = new HeldLoads();
let server: TestServer;
beforeAll(async () => {
  const models = ["--model", `day=${DEMO_MODEL}`, "--model", `night=${DEMO_MODEL}`];
  server = await readied(new TestServer(models, loads.env));
});
afterAll(() => server.stop());

const MODELS = ["day", "night"];

test("both models are listed, each with a process of its own", async () => {
  const { data } = await server.client.models.list();
  expect(data.map(({ id }) => id)).toEqual(MODELS);
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

test("the death of one engine leaves the other serving; only /ready?strict turns 503", async () => {
  const { pid } = server.logged("Engine process started").find(({ model }) => model === "day")!;
  loads.hold();
  process.kill(Number(pid), "SIGKILL");
  const strict = async () => (await fetch(`${server.origin}/ready?strict`)).status;
  await until("/ready?strict to be 503", async () => (await strict()) === 503);
  expect((await server.ready()).status).toBe(200);
  const { choices } = await complete(server.client, "Capital of Egypt?", { model: "night" });
  expect(choices[0]!.message.content).toBe("The capital of Egypt is Cairo.");
  loads.release();
  await until("/ready?strict to be 200", async () => (await strict()) === 200);
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_engine_restarts_total", { model: "day" })).toBe(1);
  expect(metrics.sum("nightshift_engine_restarts_total", { model: "night" })).toBe(0);
});
