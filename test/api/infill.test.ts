import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { infillResponse } from "../../openapi/infill/infill.ts";
import { jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { copyWithNumbers } from "./gguf-copy.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";

/** Tokens of the demo model that stand for those of fill-in-the-middle, with their texts. */
const MARKS = { pre: 1020, suf: 1022, mid: 1023, rep: 0, sep: 1 };
const [PREFIX, SUFFIX, MIDDLE, REPOSITORY, FILE] = ["<|im_start|>", "<tool_call>", "</tool_call>", "\0", "\x01"];

/** One answer alone follows it. */
const grammar = 'root ::= "return a + b"';
const ANSWER = "return a + b";

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nightshift-infill-"));
  const path = join(folder, "fim.gguf");
  const numbers = Object.entries(MARKS).map(([name, token]) => [`tokenizer.ggml.fim_${name}_token_id`, token]);
  copyWithNumbers(DEMO_MODEL, path, Object.fromEntries(numbers));
  server = await startServer("--model", `fim=${path}`, "--context", "1024");
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function infill(fields: object): Promise<{ status: number; body: unknown }> {
  const response = await server.post("/infill", { input_prefix: "def add(a, b):\n  ", input_suffix: "\n", ...fields });
  return { status: response.status, body: await response.json() };
}

/** The rendered prompts of a request that is not run. */
async function prompts(path: string, fields: object): Promise<{ text: string; tokens: number }[]> {
  const response = await server.post(path, { model: "fim", ...fields, nightshift: { dry_run: true } });
  return ((await response.json()) as { prompts: { text: string; tokens: number }[] }).prompts;
}

describe("completions with a suffix", () => {
  type Body = OpenAI.CompletionCreateParamsNonStreaming & { grammar?: string };
  const body: Body = { model: "fim", prompt: ["One", "Two"], suffix: " end.", n: 2, logprobs: 1, grammar };

  test("write the text between every prompt and the suffix", async () => {
    const { choices, usage } = await server.client.completions.create(body);
    expect(choices.map(({ text, finish_reason }) => [text, finish_reason])).toEqual(Array(4).fill([ANSWER, "stop"]));
    expect(choices[0]!.logprobs!.tokens!.join("")).toBe(ANSWER);
    const rendered = await prompts("/v1/completions", body);
    expect(rendered.map(({ text }) => text)).toEqual(
      ["One", "Two"].map((prompt) => `${PREFIX}${prompt}${SUFFIX} end.${MIDDLE}`),
    );
    expect(usage!.prompt_tokens).toBe(rendered[0]!.tokens + rendered[1]!.tokens);
  });

  test("stream it", async () => {
    let text = "";
    const stream = await server.client.completions.create({ ...body, prompt: "One", n: 1, stream: true });
    for await (const { choices } of stream) text += choices[0]?.text ?? "";
    expect(text).toBe(ANSWER);
  });

  test("with an empty suffix continue the prompt", async () => {
    expect(await prompts("/v1/completions", { prompt: "One", suffix: "" })).toMatchObject([{ text: "One" }]);
  });

  test("run in batches", async () => {
    const line = { custom_id: "a", method: "POST", url: "/v1/completions", body: { ...body, n: 1 } };
    const made = await submit(server.client, jsonl([line]), { endpoint: "/v1/completions" });
    const { output } = await results(server.client, await reaches(server.client, made.id, "completed"));
    const choices = output[0]!.response!.body.choices as unknown as OpenAI.CompletionChoice[];
    expect(choices.map(({ text }) => text)).toEqual([ANSWER, ANSWER]);
  });
});

test("Ollama's generations write the text before a suffix, and its model says so", async () => {
  // A schema in place of the grammar, which this API has no field for.
  const format = { enum: ["middle"] };
  const response = await server.post("/api/generate", {
    model: "fim",
    prompt: "One",
    suffix: " end.",
    format,
    stream: false,
  });
  const prompt_eval_count = (await prompts("/v1/completions", { prompt: "One", suffix: " end." }))[0]!.tokens;
  expect(await response.json()).toMatchObject({ response: '"middle"', done_reason: "stop", prompt_eval_count });
  const shown = await server.post("/api/show", { model: "fim" });
  expect(((await shown.json()) as { capabilities: string[] }).capabilities).toContain("insert");
});

describe("/infill", () => {
  test("answers with the text and its counts", async () => {
    const { body } = await infill({ grammar, prompt: "  " });
    expect(body).toMatchObject({ index: 0, content: ANSWER, stop: true, model: "fim", stopping_word: "" });
    const counts = { prompt_ms: expect.any(Number), predicted_ms: expect.any(Number) };
    expect(body).toMatchObject({ stop_type: "eos", tokens_predicted: expect.any(Number), timings: counts });
    const { tokens_evaluated, timings } = body as {
      tokens_evaluated: number;
      timings: { cache_n: number; prompt_n: number };
    };
    expect(timings.cache_n + timings.prompt_n).toBe(tokens_evaluated);
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_requests_total", { endpoint: "/infill", status: "ok" })).toBe(1);
  });

  test("accepts the fields of editors, and reports those that have no effect", async () => {
    const fields = { samplers: ["top_k", "top_p", "infill"], top_k: 40, top_p: 0.9, cache_prompt: true };
    const body = { input_prefix: "a", input_suffix: "b", n_predict: 1, ...fields };
    const response = await server.post("/infill", body);
    expect([response.status, response.headers.get("x-nightshift-ignored")]).toEqual([
      200,
      "cache_prompt, samplers.infill",
    ]);
    await response.body?.cancel();
    expect((await infill({ samplers: ["infil"] })).status).toBe(400);
  });

  test("takes a seed of -1 for a random one", async () => {
    const answers: string[] = [];
    const fields = { seed: -1, temperature: 2, n_predict: 16, grammar: "root ::= [a-z]{64}" };
    for (let drawn = 0; drawn < 3; drawn++) answers.push(infillResponse.parse((await infill(fields)).body).content);
    expect(new Set(answers).size).toBe(3);
  });

  test("ends at a bound on tokens, or before a text of stop", async () => {
    expect((await infill({ n_predict: 2, grammar })).body).toMatchObject({ stop_type: "limit", tokens_predicted: 2 });
    expect((await infill({ n_predict: 0 })).body).toMatchObject({ stop_type: "limit", content: "" });
    const stopped = { stop_type: "word", stopping_word: " +", content: "return a" };
    expect((await infill({ stop: [" +"], grammar })).body).toMatchObject(stopped);
  });

  test("streams the text, and the rest of the answer in the last event", async () => {
    const fields = { input_prefix: "a", input_suffix: "b", stream: true };
    const events = async (more: object) => {
      const response = await server.post("/infill", { ...fields, ...more });
      expect(response.headers.get("content-type")).toContain("text/event-stream");
      const lines = (await response.text()).split("\n\n").filter(Boolean);
      return lines.map((line): Record<string, unknown> => JSON.parse(line.replace(/^data: /, "")));
    };
    const all = await events({ grammar });
    expect(all.map(({ content }) => content).join("")).toBe(ANSWER);
    expect(all.map(({ stop }) => stop)).toEqual([...Array(all.length - 1).fill(false), true]);
    expect(all.at(-1)).toMatchObject({ content: "", stop_type: "eos", timings: expect.any(Object) });
    expect(await events({ n_predict: 0 })).toEqual([expect.objectContaining({ stop: true, stop_type: "limit" })]);
  });

  test("reads other files before the prefix", async () => {
    const fields = { input_prefix: "p", input_suffix: "s", prompt: "m" };
    const input_extra = [{ filename: "a.py", text: "x = 1\n" }, { text: "y <|im_end|>" }];
    const own = `${FILE}filename\n${PREFIX}pm${SUFFIX}s${MIDDLE}`;
    const rendered = await prompts("/infill", { ...fields, input_extra });
    expect(rendered[0]!.text).toBe(`${REPOSITORY}myproject\n${FILE}a.py\nx = 1\n${FILE}tmp\ny <|im_end|>${own}`);
    const long = { ...fields, input_extra: [{ text: "Hello apple window. ".repeat(900) }], n_predict: 100 };
    const [cut] = await prompts("/infill", long);
    expect(cut!.tokens).toBe(1024 - 1 - 100);
    expect(cut!.text.endsWith(own)).toBe(true);
  });

  test.each<[string, object, string]>([
    ["input_suffix", { input_suffix: undefined }, "missing_required_parameter"],
    ["input_prefix", { input_prefix: ["a"] }, "invalid_type"],
    ["input_extra[0].text", { input_extra: [{ filename: "a" }] }, "missing_required_parameter"],
    ["input_extra", { input_extra: Array(257).fill({ text: "" }) }, "invalid_value"],
    ["n_predict", { n_predict: -2 }, "invalid_value"],
    ["max_tokens", { n_predict: 1, max_tokens: 2 }, "invalid_value"],
    ["n", { n: 2 }, "unsupported_value"],
    ["prompt", { input_prefix: "Hello apple window. ".repeat(900) }, "context_length_exceeded"],
  ])("refuses %s of %j", async (param, fields, code) => {
    expect(await infill(fields)).toMatchObject({ status: 400, body: { error: { param, code } } });
  });
});
