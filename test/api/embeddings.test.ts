import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RerankResponse } from "../../openapi/resources/rerank.ts";
import { complete, stream } from "./ask.ts";
import { failure } from "./failure.ts";
import { HeldSteps } from "./held-steps.ts";
import { randomModels } from "./random-models.ts";
import { readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

/** A generating model, encoders with two kinds of pooling, a ranking model, and one without attention. */
const SHAPED = {
  embedder: "tiny-embedding",
  first: "tiny-embedding-cls",
  ranker: "tiny-ranking",
  recurrent: "tiny-recurrent",
};
const WIDTH = { demo: 128, embedder: 64, first: 64, recurrent: 64 };

const folder = mkdtempSync(join(tmpdir(), "nightshift-embeddings-"));
const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  const models = await randomModels(folder, SHAPED);
  const demo = ["--model", "demo=models/demo.gguf"];
  // Not a multiple of the inputs of an embedding batch: llama.cpp aborts when it pools such a number.
  const odd = ["--step-tokens", "200"];
  const options = ["--threads", "1", "--sequences", "4", ...odd, ...demo, ...models];
  server = await readied(new TestServer(options, steps.env));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const TEXTS = ["The cat sat on the mat.", "Count from 3 to 7.", "a", "Once upon a time ".repeat(20)];

type Body = Partial<OpenAI.EmbeddingCreateParams>;

async function embed(body: Body): Promise<OpenAI.CreateEmbeddingResponse> {
  return server.client.embeddings.create({ model: "demo", input: TEXTS[0]!, ...body });
}

async function vectorsOf(model: string, input: Body["input"]): Promise<number[][]> {
  return (await embed({ model, input })).data.map(({ embedding }) => embedding);
}

interface Raw {
  data: { embedding: string }[];
}

interface UsagePage {
  data: { results: { object: string; model: string; input_tokens: number }[] }[];
}

async function bodyOf<T>(response: Promise<Response>): Promise<T> {
  const body: unknown = await (await response).json();
  // The tests check the rest of the response themselves.
  return body as T;
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}

describe.each(Object.entries(WIDTH))("vectors of %s", (model, width) => {
  test("have length 1 and the order of the inputs, alone and together", async () => {
    const { data, usage, object } = await embed({ model, input: TEXTS });
    expect(object).toBe("list");
    expect(data.map(({ index, object }) => [index, object])).toEqual(TEXTS.map((_, i) => [i, "embedding"]));
    let tokens = 0;
    for (const [i, { embedding }] of data.entries()) {
      expect(embedding).toHaveLength(width);
      expect(dot(embedding, embedding)).toBeCloseTo(1, 5);
      const alone = await embed({ model, input: TEXTS[i]! });
      expect(dot(alone.data[0]!.embedding, embedding)).toBeCloseTo(1, 4);
      tokens += alone.usage.prompt_tokens;
    }
    expect(usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
    // Another text has another vector.
    expect(dot(data[0]!.embedding, data[1]!.embedding)).toBeLessThan(0.999);
  });

  test("concurrent requests share decodes and get their own vectors", async () => {
    const alone = [];
    for (const text of TEXTS) alone.push((await vectorsOf(model, text))[0]!);
    const together = await Promise.all([...TEXTS, ...TEXTS].map((text) => vectorsOf(model, text)));
    for (const [i, vectors] of together.entries()) expect(dot(vectors[0]!, alone[i % 4]!)).toBeCloseTo(1, 4);
  });
});

describe("a request for embeddings", () => {
  test("accepts tokens and token lists", async () => {
    const [one] = await vectorsOf("demo", [1, 2, 3]);
    const two = await vectorsOf("demo", [
      [1, 2, 3],
      [4, 5],
    ]);
    expect(dot(one!, two[0]!)).toBeCloseTo(1, 4);
    expect(two).toHaveLength(2);
  });

  test("returns the same numbers as float and base64", async () => {
    const body = { model: "demo", input: TEXTS[1]! };
    const floats = await embed({ ...body, encoding_format: "float" });
    const raw = await bodyOf<Raw>(server.post("/v1/embeddings", { ...body, encoding_format: "base64" }));
    const bytes = Buffer.from(raw.data[0]!.embedding, "base64");
    const numbers = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
    expect(numbers).toEqual(floats.data[0]!.embedding);
  });

  test("with dimensions returns shorter vectors of length 1", async () => {
    const [whole] = await vectorsOf("demo", TEXTS[0]!);
    const { data } = await embed({ dimensions: 16 });
    const { embedding } = data[0]!;
    expect(embedding).toHaveLength(16);
    expect(dot(embedding, embedding)).toBeCloseTo(1, 5);
    expect(embedding[3]! / embedding[2]!).toBeCloseTo(whole![3]! / whole![2]!, 3);
    expect(await failure(embed({ dimensions: 129 }))).toMatchObject({ status: 400, param: "dimensions" });
  });

  test("computes a long input in parts beside short ones and streams", async () => {
    const tokens = Array.from({ length: 1500 }, (_, i) => 100 + (i % 300));
    const [alone] = await vectorsOf("demo", tokens);
    const chunks: number[] = [];
    const streaming = (async () => {
      const answer = await stream(server.client, "Count from 3 to 7.", { ignore_eos: true, max_tokens: 200 });
      for await (const _ of answer) chunks.push(performance.now());
    })();
    const many = await Promise.all([vectorsOf("demo", [tokens, [5], [6, 7]]), vectorsOf("demo", TEXTS)]);
    expect(dot(many[0]![0]!, alone!)).toBeCloseTo(1, 3);
    await streaming;
    expect(chunks.length).toBeGreaterThan(50);
  });

  test("of a disconnected client frees the engine at once", async () => {
    const leaves = new AbortController();
    const body = { model: "demo", input: Array.from({ length: 1000 }, () => "The cat sat on the mat. ".repeat(16)) };
    const inputs = async () => (await server.metrics()).sum("nightshift_embedding_inputs_total", { model: "demo" });
    const before = await inputs();
    // Beside a stream no embedding batch is computed while the steps are held.
    steps.allow(5);
    const streaming = await stream(server.client, "Count from 3 to 7.", { ignore_eos: true, max_tokens: 200 });
    await streaming[Symbol.asyncIterator]().next();
    const left = failure(server.client.embeddings.create(body, { signal: leaves.signal }).then());
    await until("the first inputs to be computed", async () => {
      steps.allow(1);
      return (await inputs()) > before;
    });
    leaves.abort();
    expect(await left).toBeInstanceOf(OpenAI.APIUserAbortError);
    await until("the stream to be the only request", async () => {
      const metrics = await server.metrics();
      return metrics.sum("nightshift_requests_running") + metrics.sum("nightshift_requests_waiting") === 1;
    });
    streaming.controller.abort();
    steps.release();
    await server.idle();
    await embed({});
    expect(await inputs()).toBeLessThan(before + 800);
  });

  test.each<[string, Body, string, string]>([
    ["an empty text", { input: "" }, "input", "invalid_value"],
    ["no input", { input: [] }, "input", "invalid_value"],
    ["an empty text among others", { input: ["a", ""] }, "input", "invalid_value"],
    ["too many inputs", { input: Array.from({ length: 2049 }, () => "a") }, "input", "invalid_value"],
    ["a token that is none", { input: [5000] }, "input", "invalid_value"],
    [
      "an input that is too long",
      { model: "embedder", input: ["a", "b c ".repeat(200)] },
      "input",
      "context_length_exceeded",
    ],
    ["a model that ranks", { model: "ranker" }, "model", "unsupported_model"],
  ])("with %s is a 400", async (_, body, param, code) => {
    const error = await failure(embed(body));
    expect(error).toMatchObject({ status: 400, code });
    expect(error.param).toContain(param);
  });

  test("names an input that is too long, with its tokens and the model's", async () => {
    const { message } = await failure(embed({ model: "embedder", input: ["a", "b c ".repeat(200)] }));
    expect(message).toMatch(/'input\[1\]': this model reads at most 256 tokens of one input, and it has \d+/);
  });

  test("is priced by its input, and counted in the usage of embeddings only", async () => {
    const { usage } = await embed({ input: TEXTS });
    await server.reaches("nightshift_requests_total", 1, { endpoint: "/v1/embeddings", status: "ok", model: "demo" });
    await server.reaches("nightshift_ledger_cost_usd_total", usage.prompt_tokens * 1e-7, {
      endpoint: "/v1/embeddings",
    });
    const page = async (kind: string) => {
      const query = "start_time=0&bucket_width=1d&limit=31&group_by=model&group_by=endpoint";
      const from = Math.floor(Date.now() / 86_400_000) * 86_400;
      const url = `${server.origin}/v1/organization/usage/${kind}?${query.replace("=0", `=${from}`)}`;
      return (await bodyOf<UsagePage>(fetch(url))).data[0]!.results;
    };
    const embeddings = await page("embeddings");
    const demo = embeddings.find(({ model }) => model === "demo")!;
    expect(demo.object).toBe("organization.usage.embeddings.result");
    expect(demo.input_tokens).toBeGreaterThanOrEqual(usage.prompt_tokens);
    await complete(server.client, "Who are you?");
    await server.reaches("nightshift_ledger_cost_usd_total", 1e-9, { endpoint: "/v1/chat/completions" });
    const completions = await page("completions");
    expect(JSON.stringify(completions)).not.toContain('embeddings"');
    expect(completions.length).toBeGreaterThan(0);
  });
});

describe("models that do not generate", () => {
  test.each([
    ["embedder", "/v1/embeddings"],
    ["ranker", "/v1/rerank"],
  ])("%s refuses a chat and names %s", async (model, path) => {
    const error = await failure(complete(server.client, "Hello", { model }));
    expect(error).toMatchObject({ status: 400, code: "unsupported_model", param: "model" });
    expect(error.message).toContain(path);
  });
});

describe("ranks", () => {
  const documents = ["The cat sat on the mat.", "Count from 3 to 7.", "Once upon a time there was a fox."];

  async function rank(body: object): Promise<Response> {
    return server.post("/v1/rerank", { model: "ranker", query: "Where is the cat?", documents, ...body });
  }

  test("have every document once, the best first, with the scores it has alone", async () => {
    const { results, usage, model } = await bodyOf<RerankResponse>(rank({}));
    expect(model).toBe("ranker");
    expect(results.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    const scores = results.map((result) => result.relevance_score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(new Set(scores).size).toBe(3);
    const [best] = results;
    const alone = await bodyOf<RerankResponse>(rank({ documents: [documents[best!.index]] }));
    expect(alone.results[0]!.relevance_score).toBeCloseTo(best!.relevance_score, 3);
    expect(usage.total_tokens).toBeGreaterThan(alone.usage.total_tokens);
  });

  test("follow top_n and return_documents", async () => {
    const { results } = await bodyOf<RerankResponse>(rank({ top_n: 1, return_documents: true }));
    expect(results).toHaveLength(1);
    expect(results[0]!.document).toEqual({ text: documents[results[0]!.index] });
  });

  test.each([
    [{ model: "demo" }, "unsupported_model"],
    [{ documents: [] }, "invalid_value"],
    [{ query: undefined }, "missing_required_parameter"],
  ])("%j is refused", async (body, code) => {
    const response = await rank(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code } });
  });
});
