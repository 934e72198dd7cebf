import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ApiError } from "../../../../openapi/api-error.ts";
import { type FakeRequest, saying } from "../fake-engine.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.engine.requests.length = 0;
});

const user = (content: string) => ({ role: "user", content });
const ASKED = {
  model: "demo",
  input: [user("a"), { role: "assistant", content: "b" }, user("c")],
  // The fake engine counts two tokens in every prompt.
  context_management: [{ type: "compaction", compact_threshold: 1 }],
};

function contents({ submission: { prompt } }: FakeRequest): (string | null)[] {
  return prompt.kind === "chat" ? prompt.messages.map(({ content }) => content) : [];
}

async function observed(series: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`nightshift_${series}{`));
  return lines
    .filter((line) => line.includes('"/v1/responses"'))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const SERIES = ["requests_total", "request_duration_seconds_count", "queue_time_seconds_count"];

test("a summary and its answer are one request, with the tokens of both", async () => {
  server.engine.script = (request) => saying(...(server.engine.requests.length === 1 ? ["x", "y"] : ["z"]))(request);
  const before = await Promise.all(SERIES.map(observed));
  const response = await server.post("/v1/responses", ASKED);
  expect(await response.json()).toMatchObject({
    output: [{ type: "compaction" }, { type: "message", content: [{ text: "z" }] }],
    usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 3, total_tokens: 13 },
  });
  const [summary, answer] = server.engine.requests as [FakeRequest, FakeRequest];
  expect(contents(summary).slice(0, 2)).toEqual(["a", "b"]);
  expect(contents(summary).at(-1)).toMatch(/^c\n\nSummarize the conversation/);
  expect(contents(answer)).toEqual(["a\n\nc\n\nSummary of the conversation so far:\nxy"]);
  expect(await Promise.all(SERIES.map(observed))).toEqual(before.map((count) => count + 1));
});

test("a request whose summary fails fails, and is not answered", async () => {
  server.engine.script = (request) => request.fail(new ApiError("engine_failed", "broken"));
  const response = await server.post("/v1/responses", { ...ASKED, stream: true });
  expect([response.status, server.engine.requests.length]).toEqual([503, 1]);
});

test("a summary ends when its client leaves", async () => {
  let submitted = (_: FakeRequest) => {};
  const summary = new Promise<FakeRequest>((resolve) => {
    submitted = resolve;
  });
  server.engine.script = (request) => submitted(request.begin().say("x"));
  const leaving = new AbortController();
  const body = JSON.stringify(ASKED);
  const headers = { "content-type": "application/json" };
  const asked = fetch(`${server.url}/v1/responses`, { method: "POST", headers, body, signal: leaving.signal });
  const request = await summary;
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await request.whenCancelled;
  expect(server.engine.requests).toHaveLength(1);
});
