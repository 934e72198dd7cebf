import { afterAll, beforeAll, expect, it } from "vitest";
import { FACTS, saying } from "../fake-engine.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.engine.script = saying("ok");
});
afterAll(() => server.close());

const { context } = FACTS;
const tokens = (length: number) => Array<number>(length).fill(7);

it.each([
  ["/v1/completions", { prompt: tokens(context) }, "prompt"],
  ["/v1/completions", { prompt: [tokens(3), tokens(context)] }, "prompt"],
  ["/v1/completions", { prompt: tokens(context), nightshift: { dry_run: true } }, "prompt"],
  ["/v1/embeddings", { input: [tokens(3), tokens(context + 1)] }, "input"],
])("tokens that are more than the context are refused by %s before anything is sent", async (path, fields, param) => {
  const answer = await server.post(path, { model: "demo", ...fields });
  expect(answer.status).toBe(400);
  const message = expect.stringContaining(`${context} tokens`);
  expect(await answer.json()).toMatchObject({ error: { code: "context_length_exceeded", param, message } });
  expect([...server.engine.requests, ...server.engine.readings]).toEqual([]);
});

it("token prompts shorter than the context are submitted", async () => {
  expect((await server.post("/v1/completions", { model: "demo", prompt: tokens(context - 1) })).status).toBe(200);
  expect(server.engine.requests).toHaveLength(1);
});
