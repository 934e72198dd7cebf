import { afterAll, beforeAll, expect, test } from "vitest";
import { messageBatch } from "../../../../openapi/anthropic/batches.ts";
import { until } from "../../../api/until.ts";
import { saying } from "../fake-engine.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ trustedProxy: ["127.0.0.1"] });
  server.engine.script = saying("yes");
});
afterAll(() => server.close());

const params = { model: "demo", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };

test("the results of a batch have the address by which the client reaches the server", async () => {
  const created = await server.post("/v1/messages/batches", { requests: [{ custom_id: "a", params }] });
  const { id } = messageBatch.parse(await created.json());
  const read = async (headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/v1/messages/batches/${id}`, { headers });
    return messageBatch.parse(await response.json()).results_url;
  };
  await until("the batch to end", async () => (await read()) !== null);
  expect(await read()).toBe(`${server.url}/v1/messages/batches/${id}/results`);
  const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "llm.example" };
  expect(await read(forwarded)).toBe(`https://llm.example/v1/messages/batches/${id}/results`);
});
