import type OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { vocabulary } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

const [START, END] = [1020, 1021];

let server: TestServer;
let tokens: Map<string, number>;
beforeAll(async () => {
  server = await startServer();
  tokens = await vocabulary(server.client);
});
afterAll(() => server.stop());

type Body = OpenAI.CompletionCreateParamsNonStreaming;

async function complete(prompt: Body["prompt"], options: Partial<Body> = {}): Promise<OpenAI.Completion> {
  return server.client.completions.create({ model: "demo", prompt, temperature: 0, ...options });
}

test("a string is continued by 16 tokens by default", async () => {
  const { choices, usage, object, id } = await complete("Once upon a time");
  expect({ object, id }).toEqual({ object: "text_completion", id: expect.stringMatching(/^cmpl-/) });
  expect(choices).toEqual([{ index: 0, text: expect.any(String), logprobs: null, finish_reason: "length" }]);
  expect(choices[0]!.text).toMatch(/^, a \w+ \w+ lived/);
  expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 16, total_tokens: 20 });
});

test("the chat template spelled in tokens gives the chat's answer", async () => {
  const turn = encode("user\nCapital of Peru?");
  const prompt = [START, ...turn, END, ...encode("\n"), START, ...encode("assistant\n")];
  const { choices, usage } = await complete(prompt);
  expect(choices[0]).toMatchObject({ text: "The capital of Peru is Lima.", finish_reason: "stop" });
  expect(usage!.prompt_tokens).toBe(prompt.length);
});

test("the choices of prompt i begin at i × n", async () => {
  const prompts = ["Once upon", "1, 2, 3,", "11, 12, 13,"];
  const together = await complete(prompts, { n: 2, max_tokens: 4 });
  expect(together.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
  const alone = await Promise.all(prompts.map((prompt) => complete(prompt, { max_tokens: 4 })));
  for (const [i, { choices }] of alone.entries()) {
    expect(together.choices[2 * i]!.text).toBe(choices[0]!.text);
    expect(together.choices[2 * i + 1]!.text).toBe(choices[0]!.text);
  }
  const sum = (count: (usage: OpenAI.CompletionUsage) => number) =>
    alone.reduce((total, { usage }) => total + count(usage!), 0);
  expect(together.usage!.prompt_tokens).toBe(sum((usage) => usage.prompt_tokens));
  expect(together.usage!.completion_tokens).toBe(2 * sum((usage) => usage.completion_tokens));
  expect(together.usage!.total_tokens).toBe(together.usage!.prompt_tokens + together.usage!.completion_tokens);
});

test("each list of tokens is a prompt", async () => {
  const [first, second] = [encode("Once upon"), encode("1, 2, 3,")];
  const { choices } = await complete([first, second], { max_tokens: 4 });
  const strings = await complete(["Once upon", "1, 2, 3,"], { max_tokens: 4 });
  expect(choices.map(({ text }) => text)).toEqual(strings.choices.map(({ text }) => text));
});

test.each<[string, () => Body["prompt"]]>([
  ["a string", () => "1, 2, 3,"],
  ["tokens", () => encode("1, 2, 3,")],
])("echo returns %s before the continuation", async (_, prompt) => {
  const plain = await complete(prompt(), { max_tokens: 6 });
  const echoed = await complete(prompt(), { max_tokens: 6, echo: true, n: 2 });
  for (const { text } of echoed.choices) expect(text).toBe(`1, 2, 3,${plain.choices[0]!.text}`);
});

test("choice j of every prompt uses seed + j", async () => {
  const options = { temperature: 1, max_tokens: 20 };
  const { choices } = await complete(["Once upon a", "Once upon a"], { ...options, seed: 3, n: 2 });
  const alone = [];
  for (const seed of [3, 4]) alone.push((await complete("Once upon a", { ...options, seed })).choices[0]!.text);
  expect(choices.map(({ text }) => text)).toEqual([...alone, ...alone]);
});

test("stop and max_tokens apply as in chats", async () => {
  const { choices } = await complete("1, 2, 3,", { max_tokens: 30, stop: ["6", "9"] });
  expect(choices[0]).toMatchObject({ text: " 4, 5, ", finish_reason: "stop" });
});

test("best_of equal to n is accepted", async () => {
  const { choices } = await complete("1, 2, 3,", { n: 2, best_of: 2, max_tokens: 4 });
  expect(choices).toHaveLength(2);
});

/** A greedy tokenizer by the longest matching token; for ASCII without double spaces. */
function encode(text: string): number[] {
  const ids = [];
  for (let at = 0; at < text.length; ) {
    let length = text.length - at;
    while (length > 1 && !tokens.has(text.slice(at, at + length))) length--;
    ids.push(tokens.get(text.slice(at, at + length))!);
    at += length;
  }
  return ids;
}
