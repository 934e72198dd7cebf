import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, complete, END_OF_TURN, type Options, vocabulary } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

const STORY = "Tell me a story about a fox.";
/** The demo model's first 256 tokens are the bytes. */
const BYTES_OF_E_ACUTE = [0xc3, 0xa9];
const LETTERS = Array.from({ length: 26 }, (_, i) => 0x61 + i);
const COUNT = "Count from 3 to 12.";
const COUNTED = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12";

let server: TestServer;
let tokens: Map<string, number>;
beforeAll(async () => {
  server = await startServer();
  tokens = await vocabulary(server.client);
});
afterAll(() => server.stop());

function token(text: string): number {
  const id = tokens.get(text);
  if (id === undefined) throw new Error(`"${text}" is no token of the demo model`);
  return id;
}

async function choice(question: string, options: Options) {
  const { choices, usage } = await complete(server.client, question, options);
  const { message, finish_reason } = choices[0]!;
  return { text: message.content!, reason: finish_reason, tokens: usage!.completion_tokens };
}

describe("stop", () => {
  test.each([
    ["one within a token's text", ", 8", "3, 4, 5, 6, 7"],
    ["one that begins and ends within tokens", "6, 7, 8, 9, 1", "3, 4, 5, "],
    ["the first of several to appear", ["12", "9", "7, 8"], "3, 4, 5, 6, "],
    ["one that never appears", "apple", COUNTED],
    ["one that begins but does not go on", ["8, 9, 11", "12, 13"], COUNTED],
    ["the very first character", "3", ""],
  ])("%s", async (_, stop, text) => {
    const got = await choice(COUNT, { stop });
    expect(got).toMatchObject({ text, reason: "stop" });
  });

  test("cuts a stream at the same place", async () => {
    const response = await server.client.chat.completions.create({
      ...{ model: "demo", messages: [{ role: "user", content: COUNT }], temperature: 0 },
      ...{ stop: ["7, 8", "10"], stream: true as const },
    });
    let text = "";
    for await (const chunk of response) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("3, 4, 5, 6, ");
  });

  test("matches characters of several bytes", async () => {
    const options = {
      logit_bias: Object.fromEntries(BYTES_OF_E_ACUTE.map((byte) => [byte, 100])),
      temperature: 2,
      seed: 5,
      max_tokens: 40,
    };
    const free = await choice("Hello!", options);
    const got = await choice("Hello!", { ...options, stop: "é" });
    expect(got).toMatchObject({ text: free.text.slice(0, free.text.indexOf("é")), reason: "stop" });
  });

  test("a token of stop_token_ids ends a choice and is not part of its text", async () => {
    expect(await choice(COUNT, { stop_token_ids: [token(",")] })).toEqual({ text: "3", reason: "stop", tokens: 2 });
  });
});

describe("length", () => {
  test.each([1, 2, 7])("max_tokens %i", async (max_tokens) => {
    const got = await choice(STORY, { max_tokens });
    expect(got).toMatchObject({ reason: "length", tokens: max_tokens });
  });

  test("max_completion_tokens overrides max_tokens", async () => {
    expect(await choice(STORY, { max_completion_tokens: 3, max_tokens: 50 })).toMatchObject({ tokens: 3 });
  });

  test("ignore_eos continues to the last token", async () => {
    const got = await choice("Capital of Cuba?", { ignore_eos: true, max_tokens: 60 });
    expect(got).toMatchObject({ reason: "length", tokens: 60 });
    expect(got.text).toMatch(/^The capital of Cuba is Havana\./);
  });

  test("min_tokens delays end tokens and stop strings", async () => {
    const short = await choice("What is 7 + 8?", {});
    expect(short.tokens).toBeLessThan(20);
    const long = await choice("What is 7 + 8?", { min_tokens: 20, max_tokens: 60 });
    expect(long.tokens).toBeGreaterThanOrEqual(20);
    const stopped = await choice(COUNT, { stop: ",", min_tokens: 10 });
    expect(stopped.tokens).toBeGreaterThanOrEqual(10);
    expect(stopped).toMatchObject({ reason: "stop" });
    expect(COUNTED.startsWith(stopped.text)).toBe(true);
  });
});

describe("seed", () => {
  const drawn = { temperature: 1, seed: 42 };

  test("equal seeds give equal texts, other seeds other texts", async () => {
    const first = await ask(server.client, STORY, drawn);
    const again = await ask(server.client, STORY, drawn);
    const other = await ask(server.client, STORY, { ...drawn, seed: 43 });
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  test("choice i of n equals the answer of seed + i alone", async () => {
    const { choices, usage } = await complete(server.client, STORY, { ...drawn, n: 4 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    // One after the other: other sequences in a step change the last bits of logits.
    const singles = [];
    for (const i of [0, 1, 2, 3]) singles.push(await complete(server.client, STORY, { ...drawn, seed: 42 + i }));
    expect(choices.map((c) => c.message.content)).toEqual(singles.map((s) => s.choices[0]!.message.content));
    expect(usage!.prompt_tokens).toBe(singles[0]!.usage!.prompt_tokens);
    expect(usage!.completion_tokens).toBe(singles.reduce((sum, s) => sum + s.usage!.completion_tokens, 0));
  });

  test.each([0, -1, 2 ** 32 - 1, 2 ** 53 - 1, -(2 ** 53) + 1])("%d is accepted", async (seed) => {
    const text = await ask(server.client, STORY, { temperature: 1, seed });
    expect(await ask(server.client, STORY, { temperature: 1, seed })).toBe(text);
  });

  test("answers without a seed differ", async () => {
    const { choices } = await complete(server.client, STORY, { temperature: 1.5, n: 4 });
    expect(new Set(choices.map((c) => c.message.content)).size).toBeGreaterThan(1);
  });
});

describe("greedy sampling", () => {
  test.each<[string, Options]>([
    ["temperature 0", { temperature: 0, seed: 9 }],
    ["top_k 1", { temperature: 2, top_k: 1 }],
    ["min_p 1", { temperature: 2, min_p: 1 }],
    ["a tiny top_p", { temperature: 2, top_p: 1e-6 }],
    ["top_p 0", { temperature: 2, top_p: 0 }],
  ])("by %s", async (_, options) => {
    expect(await ask(server.client, COUNT, options)).toBe(COUNTED);
  });

  test("does not follow from a high temperature", async () => {
    expect(await ask(server.client, COUNT, { temperature: 2, seed: 1, max_tokens: 80 })).not.toBe(COUNTED);
  });
});

describe("logit_bias", () => {
  const review = "Sentiment of: I love this camera.";

  test("-100 bans a token, +100 forces it", async () => {
    expect(await ask(server.client, review)).toBe("positive");
    const banned = await ask(server.client, review, { logit_bias: { [token("positive")]: -100 }, max_tokens: 1 });
    expect(banned).not.toBe("positive");
    const forced = await choice(review, { logit_bias: { [token("negative")]: 100 }, max_tokens: 3 });
    expect(forced.text).toBe("negativenegativenegative");
  });

  test("a forced end token makes an empty answer", async () => {
    expect(await choice(STORY, { logit_bias: { [END_OF_TURN]: 100 } })).toEqual({
      text: "",
      reason: "stop",
      tokens: 1,
    });
  });
});

describe("penalties", () => {
  // Only letters can be drawn, one per token, so that the text shows repetitions.
  const letters = { logit_bias: Object.fromEntries(LETTERS.map((token) => [token, 100])), max_tokens: 26 };
  const distinct = (text: string) => new Set(text).size;

  test.each<[string, Options]>([
    ["frequency_penalty", { frequency_penalty: 2 }],
    ["presence_penalty", { presence_penalty: 2 }],
    ["repetition_penalty", { repetition_penalty: 1.1 }],
  ])("%s makes repeated tokens rarer", async (_, options) => {
    const free = await ask(server.client, "Hello!", letters);
    expect(free).toMatch(/^[a-z]{26}$/);
    const penalized = await ask(server.client, "Hello!", { ...letters, ...options });
    expect(distinct(penalized)).toBeGreaterThan(distinct(free));
  });

  test("a large repetition_penalty prevents repetition", async () => {
    expect(distinct(await ask(server.client, "Hello!", { ...letters, repetition_penalty: 2 }))).toBe(26);
  });

  test("repetition_penalty counts the prompt's tokens", async () => {
    const spelled = { model: "demo", prompt: [LETTERS[0]!, 0x20, LETTERS[1]!], temperature: 0, ...letters };
    const { choices } = await server.client.completions.create({
      ...spelled,
      max_tokens: 24,
      ...{ repetition_penalty: 2 },
    });
    expect(distinct(choices[0]!.text)).toBe(24);
    expect(choices[0]!.text).not.toMatch(/[ab]/);
  });

  test("frequency and presence penalties ignore the prompt's tokens", async () => {
    const options = { presence_penalty: 2, frequency_penalty: 2 };
    expect(await ask(server.client, "Repeat after me: river stone Oslo", options)).toBe("river stone Oslo");
  });

  test("a negative frequency_penalty rewards repetition", async () => {
    const text = await ask(server.client, COUNT, { frequency_penalty: -2, max_tokens: 60 });
    expect(text).not.toBe(COUNTED);
  });
});
