import { expect, onTestFinished, test } from "vitest";
import { batch } from "../../../openapi/resources/batches.ts";
import { file } from "../../../openapi/resources/files.ts";
import { chatLine, jsonl } from "../../batch/batch-rig.ts";
import { FakeUpstream } from "../../upstream/fake-upstream.ts";
import { saying } from "./fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "./test-server.ts";
import { upstreamSetting } from "./upstream-setting.ts";

async function start(kind: "hosted" | "vllm" = "hosted") {
  const upstream = await FakeUpstream.start({ kind, model: "demo" });
  onTestFinished(() => upstream.stop());
  const server = await startTestServer({ upstream: [upstreamSetting("api", [upstream.baseUrl])] });
  onTestFinished(() => server.close());
  return { server, upstream };
}

/** Runs a batch of one line to its end. */
async function runBatch(server: TestServer, line: object, endpoint = "/v1/chat/completions") {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new File([jsonl([line])], "in.jsonl"));
  const uploaded = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
  const { id: input_file_id } = file.parse(await uploaded.json());
  const asked = { input_file_id, endpoint, completion_window: "24h" };
  const { id } = batch.parse(await (await server.post("/v1/batches", asked)).json());
  const now = async () => batch.parse(await (await fetch(`${server.url}/v1/batches/${id}`)).json());
  await expect.poll(async () => (await now()).status, { timeout: 20_000 }).toMatch(/^(completed|failed)$/);
  const ended = await now();
  const output = ended.output_file_id;
  if (output == null) return { ended, body: null };
  const text = await (await fetch(`${server.url}/v1/files/${output}/content`)).text();
  return { ended, body: JSON.parse(text).response.body };
}

test("a batch with lines that its upstream does not take fails before one of them is sent", async () => {
  const { server, upstream } = await start();
  const line = chatLine("a", "hi");
  const { ended } = await runBatch(server, { ...line, body: { ...line.body, top_k: 5 } });
  expect(ended.errors?.data).toMatchObject([
    { line: 1, message: "The upstream 'api' does not take top_k and min_p for this model." },
  ]);
  expect(upstream.seen("/v1/chat/completions")).toEqual([]);
});

const ANSWERED: [string, object][] = [
  ["/v1/chat/completions", CHAT],
  ["/v1/completions", { model: "demo", prompt: "hi" }],
  ["/v1/embeddings", { model: "demo", input: "hi" }],
];

test.each(ANSWERED)("an answer of %s names its upstream", async (path, body) => {
  const { server } = await start();
  expect(await (await server.post(path, body)).json()).toMatchObject({ nightshift: { upstream: "api" } });
  const { ended, body: line } = await runBatch(server, { custom_id: "a", method: "POST", url: path, body }, path);
  expect(ended.request_counts).toMatchObject({ completed: 1 });
  expect(line.nightshift).toEqual({ tier: "batch", upstream: "api" });
});

const HI = [{ role: "user", content: "hi" }];
/** Answers of other APIs, with those of their events that have the whole of the answer. */
const OTHERS: [string, object, string[]][] = [
  ["/v1/responses", { model: "demo", input: "hi" }, ["response.created", "response.in_progress", "response.completed"]],
  ["/v1/messages", { model: "demo", max_tokens: 9, messages: HI }, ["message_start"]],
  ["/api/chat", { model: "demo", stream: false, messages: HI }, []],
  ["/api/generate", { model: "demo", stream: false, prompt: "hi" }, []],
  ["/api/embed", { model: "demo", input: "hi" }, []],
];

test.each(OTHERS)("an answer of %s names its upstream", async (path, body, names) => {
  const { server } = await start("vllm");
  const mark = { nightshift: { upstream: "api" } };
  expect(await (await server.post(path, body)).json()).toMatchObject(mark);
  if (path === "/api/embed") return;
  const text = await (await server.post(path, { ...body, stream: true })).text();
  const lines = path.startsWith("/api/") ? text.split("\n").filter(Boolean) : dataOf(text, names);
  expect(lines.length).toBeGreaterThanOrEqual(Math.max(1, names.length));
  for (const line of lines) {
    const { response, message, ...rest } = JSON.parse(line);
    expect(names.length === 0 ? rest : (response ?? message)).toMatchObject(mark);
  }
});

/** The data of the events of these names. */
function dataOf(text: string, names: readonly string[]): string[] {
  return text.split("\n\n").flatMap((event) => {
    const [name = "", data = ""] = event.split("\n");
    return names.includes(name.slice("event: ".length)) ? [data.slice("data: ".length)] : [];
  });
}

test("an answer of this server names no upstream", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  server.engine.script = saying("hi");
  for (const [path, body] of [...ANSWERED.slice(0, 2), ...OTHERS.slice(0, 4)]) {
    expect(await (await server.post(path, body)).json()).not.toHaveProperty("nightshift");
  }
});

test.each(ANSWERED.slice(0, 2))(
  "each chunk of %s names its upstream, and the model's version too",
  async (path, body) => {
    const { server } = await start();
    const text = await (await server.post(path, { ...body, stream: true })).text();
    const chunks = text.split("\n\n").filter((event) => event.startsWith("data: {"));
    expect(chunks.length).toBeGreaterThan(0);
    for (const chunk of chunks) {
      expect(JSON.parse(chunk.slice("data: ".length))).toMatchObject({
        nightshift: { upstream: "api" },
        system_fingerprint: expect.stringMatching(/^fp_api_[0-9a-f]{12}$/),
      });
    }
  },
);

test("an answer of this server's own model has no such field", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  server.engine.script = saying("a");
  expect(await (await server.post("/v1/chat/completions", CHAT)).json()).not.toHaveProperty("nightshift");
});
