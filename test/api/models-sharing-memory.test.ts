import { afterAll, beforeAll, expect, test } from "vitest";
import { readiness } from "../../openapi/resources/health.ts";
import { complete } from "./ask.ts";
import { HeldSteps } from "./held-steps.ts";
import { DEMO_MODEL, readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

/** Memory for one model: each needs some 265 MiB, most of it for llama.cpp's buffers. */
const TIGHT = ["--total-memory", "400MiB", "--model", `day=${DEMO_MODEL}`, "--model", `night=${DEMO_MODEL}`];

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  const options = ["--threads", "1", "--sequences", "4", "--keep-alive", "1h", ...TIGHT];
  server = await readied(new TestServer(options, steps.env));
});
afterAll(() => server.stop());

async function states(): Promise<Record<string, string>> {
  const { models } = readiness.parse(await (await server.ready()).json());
  return Object.fromEntries(models.map(({ id, state }) => [id, state]));
}

async function capital(model: string): Promise<string | null> {
  return (await complete(server.client, "Capital of Greece?", { model })).choices[0]!.message.content;
}

test("models that do not fit together are refused before any is loaded", async () => {
  const refused = new TestServer(TIGHT);
  expect((await refused.exited).code).not.toBe(0);
  expect(refused.output).toMatch(/do not fit into memory together: they need at least 'day' \d+ MiB, 'night' \d+ MiB/);
  expect(refused.output).not.toContain("Engine process started");
});

test("an idle model is unloaded for the requested one", async () => {
  expect(await capital("day")).toBe("The capital of Greece is Athens.");
  expect(await states()).toEqual({ day: "ready", night: "unloaded" });
  expect(await capital("night")).toBe("The capital of Greece is Athens.");
  expect(await states()).toEqual({ day: "unloaded", night: "ready" });
  const both = await Promise.all([capital("day"), capital("night")]);
  expect(both).toEqual(Array(2).fill("The capital of Greece is Athens."));
});

test("batch lines of one model yield to an online request for the other", async () => {
  await capital("day");
  steps.allow(5);
  const body = { model: "day", messages: [{ role: "user", content: "Count." }], ignore_eos: true, max_tokens: 100 };
  const lines = Array.from({ length: 8 }, (_, i) => {
    return JSON.stringify({ custom_id: `${i}`, method: "POST", url: "/v1/chat/completions", body });
  });
  const file = new File([lines.join("\n")], "lines.jsonl");
  const input = await server.client.files.create({ purpose: "batch", file });
  const batch = await server.client.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  const inEngine = async () => (await server.metrics()).sum("nightshift_batch_lines_in_engine", { model: "day" }) > 0;
  await until("lines in the engine", inEngine);
  const online = capital("night");
  await until("the model of the lines to be unloaded", async () => (await states()).day === "unloaded");
  steps.release();
  expect(await online).toBe("The capital of Greece is Athens.");
  expect(await states()).toEqual({ day: "unloaded", night: "ready" });
  const { status, request_counts } = await server.client.batches.retrieve(batch.id);
  expect(status).toBe("in_progress");
  expect(request_counts).toMatchObject({ total: 8, failed: 0 });
});
