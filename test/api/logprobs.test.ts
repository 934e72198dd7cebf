import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, stream, vocabulary } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1");
});
afterAll(() => server.stop());

type Token = OpenAI.ChatCompletionTokenLogprob;
type Completion = OpenAI.CompletionCreateParamsNonStreaming;

const COUNT = "Count from 3 to 7.";

function textOf(tokens: readonly Token[]): string {
  return Buffer.concat(tokens.map(({ bytes }) => Buffer.from(bytes!))).toString();
}

async function continued(body: Partial<Completion>): Promise<OpenAI.CompletionChoice> {
  const given = { model: "demo", prompt: "1, 2, 3,", temperature: 0, ...body };
  return (await server.client.completions.create(given)).choices[0]!;
}

describe("chats", () => {
  test("report each token of the content with its probability and the best ones", async () => {
    const { choices, usage } = await complete(server.client, COUNT, { logprobs: true, top_logprobs: 3 });
    const tokens = choices[0]!.logprobs!.content!;
    expect(choices[0]!.logprobs!.refusal).toBeNull();
    expect(textOf(tokens)).toBe(choices[0]!.message.content);
    // The end token was drawn too.
    expect(tokens).toHaveLength(usage!.completion_tokens - 1);
    for (const { token, logprob, top_logprobs: top } of tokens) {
      expect(top).toHaveLength(3);
      // Greedy: the drawn token is the best.
      expect(top[0]).toMatchObject({ token, logprob });
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top.map((other) => other.logprob)).toEqual(top.map((other) => other.logprob).sort((a, b) => b - a));
      expect(top.reduce((sum, other) => sum + Math.exp(other.logprob), 0)).toBeLessThanOrEqual(1.0001);
    }
  });

  test("have in every streamed chunk the tokens of its own text", async () => {
    const chunks = [];
    for await (const chunk of await stream(server.client, COUNT, { logprobs: true })) chunks.push(chunk);
    const tokens: Token[] = [];
    for (const { choices } of chunks) {
      const { delta, logprobs } = choices[0]!;
      if (delta.content) expect(textOf(logprobs!.content!)).toBe(delta.content);
      tokens.push(...(logprobs?.content ?? []));
    }
    const whole = await complete(server.client, COUNT, { logprobs: true });
    expect(tokens.map(({ token }) => token)).toEqual(whole.choices[0]!.logprobs!.content!.map(({ token }) => token));
    expect(tokens.every(({ top_logprobs: top }) => top.length === 0)).toBe(true);
  });

  test("leave out the tokens of a stop string, streamed or not", async () => {
    const options = { logprobs: true, stop: [", 6"] };
    const { choices } = await complete(server.client, COUNT, options);
    expect(choices[0]!.message.content).toBe("3, 4, 5");
    expect(textOf(choices[0]!.logprobs!.content!)).toBe("3, 4, 5");
    let streamed = "";
    for await (const { choices } of await stream(server.client, COUNT, options))
      streamed += textOf(choices[0]!.logprobs?.content ?? []);
    expect(streamed).toBe("3, 4, 5");
  });

  test("report raw probabilities at any temperature, penalties and biases", async () => {
    const seven = (await vocabulary(server.client)).get("7")!;
    const plain = await complete(server.client, COUNT, { logprobs: true, top_logprobs: 1, max_tokens: 1 });
    const forced = await complete(server.client, COUNT, {
      logprobs: true,
      top_logprobs: 1,
      max_tokens: 1,
      temperature: 1.5,
      frequency_penalty: 2,
      logit_bias: { [seven]: 100 },
    });
    const [usual, drawn] = [plain, forced].map(({ choices }) => choices[0]!.logprobs!.content![0]!);
    expect(drawn!.token).toBe("7");
    expect(drawn!.logprob).toBeLessThan(-1);
    expect(drawn!.top_logprobs[0]).toMatchObject({ token: "3", logprob: usual!.logprob });
  });
});

describe("completions", () => {
  test("report tokens, probabilities, the best by name, and offsets", async () => {
    const { text, logprobs } = await continued({ max_tokens: 6, logprobs: 2 });
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } = logprobs!;
    expect(tokens!.join("")).toBe(text);
    for (const [i, token] of tokens!.entries()) {
      expect(text.slice(offsets![i]).startsWith(token)).toBe(true);
      expect(top![i]![token]).toBe(values![i]);
      expect(Object.keys(top![i]!)).toHaveLength(2);
    }
    const zero = await continued({ max_tokens: 1, logprobs: 0 });
    expect(Object.keys(zero.logprobs!.top_logprobs![0]!)).toEqual(zero.logprobs!.tokens);
  });

  test("score the prompt by echo, with the values that its generation had", async () => {
    const generated = await continued({ max_tokens: 8, logprobs: 1 });
    const prompt = `1, 2, 3,${generated.text}`;
    const scored = await continued({ prompt, echo: true, logprobs: 1, max_tokens: 0 });
    expect(scored).toMatchObject({ text: prompt, finish_reason: "length" });
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } = scored.logprobs!;
    expect(tokens!.join("")).toBe(prompt);
    expect([values![0], top![0], offsets![0]]).toEqual([null, null, 0]);
    const from = tokens!.length - generated.logprobs!.tokens!.length;
    expect(tokens!.slice(from)).toEqual(generated.logprobs!.tokens);
    for (const [i, value] of generated.logprobs!.token_logprobs!.entries())
      expect(values![from + i]).toBeCloseTo(value!, 2);
    // Scored from its beginning each time, with any cached prefix.
    expect((await continued({ prompt, echo: true, logprobs: 1, max_tokens: 0 })).logprobs).toEqual(scored.logprobs);
  });

  test("score a long prompt over several steps beside streams", async () => {
    const prompt = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ".repeat(6);
    const others = Promise.all(
      Array.from({ length: 3 }, () =>
        complete(server.client, COUNT, { logprobs: true, ignore_eos: true, max_tokens: 40 }),
      ),
    );
    const { text, logprobs } = await continued({ prompt, echo: true, logprobs: 1, max_tokens: 3 });
    expect(logprobs!.tokens!.join("")).toBe(text);
    expect(logprobs!.tokens!.length).toBeGreaterThan(100);
    expect(logprobs!.token_logprobs!.slice(1).every((value) => value! <= 0)).toBe(true);
    await others;
  });

  test("stream the prompt first, with continuous offsets", async () => {
    const body = { model: "demo", prompt: "1, 2, 3,", temperature: 0, max_tokens: 4, echo: true, logprobs: 1 };
    const whole = await continued(body);
    const offsets: number[] = [];
    const tokens: string[] = [];
    for await (const { choices } of await server.client.completions.create({ ...body, stream: true })) {
      offsets.push(...(choices[0]!.logprobs?.text_offset ?? []));
      tokens.push(...(choices[0]!.logprobs?.tokens ?? []));
    }
    expect({ offsets, tokens }).toEqual({ offsets: whole.logprobs!.text_offset, tokens: whole.logprobs!.tokens });
  });

  test("with max_tokens 0 and without echo, return no text and count the prompt", async () => {
    const { choices, usage } = await server.client.completions.create({
      model: "demo",
      prompt: "1, 2,",
      max_tokens: 0,
    });
    expect(choices[0]).toMatchObject({ text: "", finish_reason: "length", logprobs: null });
    expect(usage).toMatchObject({ completion_tokens: 0, total_tokens: usage!.prompt_tokens });
  });
});
