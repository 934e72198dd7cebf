import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SETTINGS } from "../../bench/samplers/settings.ts";
import { failure } from "./failure.ts";
import { HeldSteps } from "./held-steps.ts";
import { randomModels } from "./random-models.ts";
import { DEMO_MODEL, readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

/** Weights, cache and attention of 32 bits: a token does not depend on other sequences of its step. */
const EXACT = ["--flash-attention", "off", "--cache-type-k", "f32", "--cache-type-v", "f32", "--threads", "1"];
const SENTENCE = "A fox and an owl met in a far away wood. ";
const TOKENS = 24;

const folder = mkdtempSync(join(tmpdir(), "nightshift-samplers-"));
const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  const models = await randomModels(folder, { tiny: "tiny-full" });
  const places = ["--kv", "split", "--sequences", "4", "--batch-tax", "5", "--park-memory", "16MiB"];
  const options = [...EXACT, ...places, "--model", `demo=${DEMO_MODEL}`, ...models];
  server = await readied(new TestServer(options, steps.env));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Fields = Readonly<Record<string, unknown>>;

/** The SDK sends fields that it does not know. */
function generate(fields: Fields): Promise<OpenAI.Completion> {
  const body = { model: "tiny", prompt: SENTENCE.repeat(3), max_tokens: TOKENS, ignore_eos: true, seed: 5 };
  return server.client.completions.create({ ...body, ...fields, stream: false });
}

async function texts(fields: Fields): Promise<string[]> {
  return (await generate(fields)).choices.map(({ text }) => text);
}

test.each(Object.entries(SETTINGS))(
  "%s: a choice of several equals the answer of its seed alone",
  async (_, fields) => {
    const together = await texts({ ...fields, n: 3 });
    const alone = [];
    for (const seed of [5, 6, 7]) alone.push(...(await texts({ ...fields, seed })));
    expect(together).toEqual(alone);
  },
);

test("preempted sequences keep the state of their samplers", async () => {
  const settings = Object.values(SETTINGS);
  const alone = [];
  for (const fields of settings) alone.push(...(await texts(fields)));
  const metric = async (name: string) => (await server.metrics()).sum(`nightshift_${name}`, { model: "tiny" });
  const inServer = async () => (await metric("requests_running")) + (await metric("requests_waiting"));
  // Online requests arrive while the sequences fill all places and none has ended.
  steps.allow(0);
  const lower = settings.map((fields) => texts({ ...fields, service_tier: "flex" }));
  await until("the flex requests to wait", async () => (await inServer()) === lower.length);
  steps.allow(10);
  await server.reaches("nightshift_requests_running", 1);
  const online = Array.from({ length: 8 }, (_, i) => texts({ prompt: `${i} ${SENTENCE}`, temperature: 0 }));
  await until("the online requests to wait", async () => (await inServer()) === lower.length + online.length);
  steps.release();
  await Promise.all(online);
  expect((await Promise.all(lower)).flat()).toEqual(alone);
  expect(await metric("sequences_displaced_total")).toBeGreaterThan(0);
});

test("penalties and DRY count the tokens of a prompt whose prefix is cached", async () => {
  const fields = {
    temperature: 0,
    repeat_penalty: 1.5,
    repeat_last_n: -1,
    dry_multiplier: 2,
    prompt: "ba be bi bo ba be bi",
  };
  const first = await generate(fields);
  const again = await generate(fields);
  expect(again.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
  expect(again.choices[0]!.text).toBe(first.choices[0]!.text);
  expect(first.choices[0]!.text).not.toBe((await texts({ temperature: 0, prompt: fields.prompt }))[0]);
});

test("log probabilities are those of the model under every sampler", async () => {
  const first = async (fields: Fields) => {
    const { choices } = await generate({ ...fields, logprobs: 1, max_tokens: 1, top_k: 0 });
    return Object.entries(choices[0]!.logprobs!.top_logprobs![0]!)[0]!;
  };
  const [token, logprob] = await first({});
  for (const fields of Object.values(SETTINGS)) {
    const [best, value] = await first(fields);
    expect(best).toBe(token);
    expect(value).toBeCloseTo(logprob, 4);
  }
});

describe("with the demo model", () => {
  const PERSON = { type: "object", properties: { name: { type: "string", maxLength: 12 } }, required: ["name"] };
  const chat = async (content: string, fields: Fields) => {
    const body = { model: "demo", messages: [{ role: "user" as const, content }], max_tokens: 100 };
    const { choices } = await server.client.chat.completions.create({ ...body, ...fields, stream: false });
    return choices[0]!.message.content!;
  };

  test("answers follow their schema under every sampler", async () => {
    const response_format = { type: "json_schema", json_schema: { name: "person", schema: PERSON } };
    for (const fields of Object.values(SETTINGS)) {
      const ask = () => chat("Tell me about Ann.", { ...fields, response_format, seed: 3, ignore_eos: false });
      const answer = await ask();
      expect(Object.keys(JSON.parse(answer)), answer).toContain("name");
      expect(await ask()).toBe(answer);
    }
  });

  // The demo model's first 256 tokens are the bytes.
  const [a, b, c] = [0x61, 0x62, 0x63];
  const PATTERN = { model: "demo", prompt: [a, b, c, a, b, c, a, b], max_tokens: 1, temperature: 0 };
  const preferred = { logit_bias: { [a]: 80, [c]: 100 } };

  test.each<[string, Fields, string]>([
    ["without DRY a pattern continues", {}, "c"],
    ["DRY penalizes the token that continues it", { dry_multiplier: 10 }, "a"],
    ["DRY leaves one that is allowed", { dry_multiplier: 10, dry_allowed_length: 6 }, "c"],
    ["DRY finds none beyond its window", { dry_multiplier: 10, dry_penalty_last_n: 4 }, "c"],
    ["DRY finds none across a breaker", { dry_multiplier: 10, dry_sequence_breakers: ["b"] }, "c"],
    ["repeat_penalty penalizes the prompt's last tokens", { repeat_penalty: 2 }, "c"],
    ["repeat_last_n is its window", { repeat_penalty: 2, repeat_last_n: 0 }, "c"],
    ["a sampler that the order leaves out has no effect", { dry_multiplier: 10, samplers: ["temperature"] }, "c"],
  ])("%s", async (_, fields, text) => {
    expect((await texts({ ...PATTERN, ...preferred, ...fields }))[0]).toBe(text);
  });

  test("repeat_penalty counts the last repeat_last_n tokens", async () => {
    const biased = { ...PATTERN, logit_bias: { [a]: 90, [b]: 95, [c]: 100 }, repeat_penalty: 2 };
    expect(await texts({ ...biased, repeat_last_n: 2 })).toEqual(["c"]);
    expect(await texts({ ...biased, prompt: [b, a, c], repeat_last_n: 2 })).toEqual(["b"]);
    expect(await texts({ ...biased, prompt: [b, c], repeat_last_n: 2 })).toEqual(["a"]);
  });

  test("a wrong field is refused by its name", async () => {
    const error = await failure(chat("Hi", { samplers: ["top_k", "dry"] }));
    expect(error).toMatchObject({ status: 400, code: "invalid_value", param: "samplers" });
    expect(error.message).toContain("penalties and dry are only supported before all other samplers");
  });

  test("requests that are cancelled under samplers leave a server that answers", async () => {
    const controllers = Object.values(SETTINGS).map((fields) => {
      const controller = new AbortController();
      const body = { model: "demo", prompt: SENTENCE, max_tokens: 2000, ignore_eos: true, ...fields };
      const request = server.client.completions.create(
        { ...body, stream: true as const },
        { signal: controller.signal },
      );
      void request.catch(() => {});
      return controller;
    });
    await server.reaches("nightshift_requests_running", 1);
    for (const controller of controllers) controller.abort();
    await server.idle();
    expect(await texts({ ...PATTERN, ...preferred })).toEqual(["c"]);
  });
});
