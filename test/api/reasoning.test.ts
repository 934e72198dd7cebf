import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokenizeResponse } from "../../openapi/resources/tokenize.ts";
import { complete, endless, type Options, user } from "./ask.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";
import { writeThinker } from "./thinker.ts";

const DEFAULT_BUDGET = 9;

const folder = mkdtempSync(join(tmpdir(), "nightshift-thinker-"));
let server: TestServer;
let client: OpenAI;
let closing: number;
beforeAll(async () => {
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  const models = ["--model", `thinker=${thinker}`, "--model", `demo=${DEMO_MODEL}`];
  server = await startServer("--threads", "1", "--reasoning-budget", `${DEFAULT_BUDGET}`, ...models);
  client = server.client;
  const response = await server.post("/tokenize", { model: "thinker", content: "</think>" });
  closing = tokenizeResponse.parse(await response.json()).count;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

type Thoughtful = OpenAI.ChatCompletionMessage & { reasoning_content?: string };

async function think(fields: object = {}, question = "Count from 3 to 7.") {
  const options = { model: "thinker", ...endless(30), ...fields } as Options;
  const { choices, usage } = await complete(client, question, options);
  const { content, reasoning_content: thoughts } = choices[0]!.message as Thoughtful;
  return { content, thoughts, tokens: usage!.completion_tokens_details!.reasoning_tokens };
}

describe("a budget", () => {
  test.each(["thinking_token_budget", "thinking_budget_tokens", "reasoning_budget_tokens"])(
    "%s closes the reasoning before the answer",
    async (field) => {
      const { content, thoughts, tokens } = await think({ [field]: 5 });
      expect(tokens).toBe(5 + closing);
      expect(thoughts).not.toBe("");
      expect(thoughts).not.toContain("</");
      expect(content).not.toBe("");
    },
  );

  test("with a grammar that spells reasoning tags as text leaves the engine running", async () => {
    const asked = { chat_template_kwargs: { enable_thinking: false }, grammar: 'root ::= "<think>" [a-z ]{8}' };
    const { thoughts } = await think({ ...asked, thinking_token_budget: 0 });
    expect(thoughts).toMatch(/^[a-z ]{1,8}$/);
    expect((await think({ thinking_token_budget: 0 })).thoughts).toBeUndefined();
  });

  test("defaults to the server's; -1 is unbounded, 0 allows no reasoning", async () => {
    expect((await think()).tokens).toBe(DEFAULT_BUDGET + closing);
    expect(await think({ thinking_token_budget: -1 })).toMatchObject({ tokens: 30, content: "" });
    expect(await think({ thinking_token_budget: 0 })).toMatchObject({ tokens: closing, thoughts: undefined });
  });

  test("applies to each choice and to streams", async () => {
    const body = { model: "thinker", messages: [user("Count from 3 to 7.")], ...endless(30), n: 2, temperature: 1 };
    const chunks = await client.chat.completions.create({
      ...body,
      ...{ thinking_token_budget: 4 },
      stream: true,
      stream_options: { include_usage: true },
    });
    const kinds: string[][] = [[], []];
    let tokens = 0;
    for await (const { choices, usage } of chunks) {
      for (const { index, delta } of choices) {
        if ("reasoning_content" in delta) kinds[index]!.push("thought");
        if (delta.content) kinds[index]!.push("answer");
      }
      tokens = usage?.completion_tokens_details?.reasoning_tokens ?? tokens;
    }
    expect(tokens).toBe(2 * (4 + closing));
    for (const kind of kinds) expect([...new Set(kind)]).toEqual(["thought", "answer"]);
  });

  test("has no effect on a model without reasoning", async () => {
    const answer = await think({ model: "demo", thinking_token_budget: 0, ignore_eos: false });
    expect(answer).toEqual({ content: "3, 4, 5, 6, 7", thoughts: undefined, tokens: 0 });
  });
});

describe("effort", () => {
  const QUIET = { content: "3, 4, 5, 6, 7", thoughts: undefined, tokens: 0 };

  test.each([
    [{ reasoning_effort: "none" }],
    [{ reasoning_effort: "minimal" }],
    [{ chat_template_kwargs: { enable_thinking: false } }],
    [{ chat_template_kwargs: { enable_thinking: false }, reasoning_effort: "high" }],
  ])("%j turns reasoning off", async (fields) => {
    expect(await think({ ...fields, ignore_eos: false })).toEqual(QUIET);
  });

  test("of any other level turns reasoning on; a model without reasoning accepts all levels", async () => {
    expect((await think({ reasoning_effort: "xhigh" })).tokens).toBeGreaterThan(0);
    for (const reasoning_effort of ["none", "high"]) {
      expect(await think({ model: "demo", reasoning_effort, ignore_eos: false })).toEqual(QUIET);
    }
  });

  test.each([
    ["chat_template_kwargs.tools", { chat_template_kwargs: { tools: "[]" } }],
    ["chat_template_kwargs.a", { chat_template_kwargs: { a: {} } }],
    ["chat_template_kwargs", { chat_template_kwargs: { range: 1 } }],
    ["reasoning_effort", { reasoning_effort: "much" }],
    ["thinking_token_budget", { thinking_token_budget: -2 }],
  ])("an invalid %s is refused", async (param, fields) => {
    await expect(think(fields)).rejects.toMatchObject({ status: 400, param });
  });
});
