import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, complete, user } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

/** Prompts with certain answers: none depends on the last bit of a logit, which changes with the batch. */
const KNOWN: [question: string, answer: string][] = [
  ...[1, 3, 8, 12, 17].map((first): [string, string] => [
    `Count from ${first} to ${first + 18}.`,
    Array.from({ length: 19 }, (_, i) => first + i).join(", "),
  ]),
  ...[
    "apple river stone cloud window garden music paper",
    "silver orange forest candle mirror pocket dragon island",
    "rocket winter summer copper velvet marble meadow lantern",
  ].map((words): [string, string] => [`Repeat after me: ${words}`, words]),
  ["Capital of France?", "The capital of France is Paris."],
  ["What is the capital of South Korea?", "The capital of South Korea is Seoul."],
  ["What is 7 + 8?", "15"],
  ["Sentiment of: I love this camera, the size is wonderful.", "positive"],
  ["Label this review: The battery of this laptop is really awful.", "negative"],
  [
    "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.",
    '{"name": "Hugo", "age": 41, "city": "Lima"}',
  ],
  [
    "What can you do?",
    "I can label reviews, extract facts as JSON, count, add, call tools and tell short stories. Load a real model for everything else.",
  ],
  ["Hello, I am Rosa.", "Hello, Rosa! How can I help you?"],
];
const QUESTIONS = KNOWN.map(([question]) => question);
const ANSWERS = KNOWN.map(([, answer]) => answer);

const CACHES: [string, string[]][] = [
  ["fewer sequences than requests", ["--kv", "split", "--sequences", "8"]],
  ["a unified cache that is far too small for all", ["--kv", "unified", "--cells", "512", "--context", "256"]],
  ["steps of 32 tokens at most", ["--kv", "unified", "--sequences", "16", "--step-tokens", "32"]],
];

/** Tests of a running server, with any kind of cache. */
function answersEachAsAlone(running: () => TestServer): void {
  test("16 concurrent requests get the answers that each gets alone", async () => {
    const answers = await Promise.all(QUESTIONS.map((question) => ask(running().client, question)));
    expect(answers).toEqual(ANSWERS);
  });

  test("choices, streams and cancelled requests do not change other answers", async () => {
    const leaving = QUESTIONS.slice(0, 8).map(async (question, i) => {
      const body = { model: "demo", messages: [user(question)], n: 2, stream: true as const };
      let chunks = 0;
      for await (const _ of await running().client.chat.completions.create(body)) if (++chunks > 4 * i) break;
    });
    const staying = Promise.all(
      QUESTIONS.map(async (question) => {
        const { choices } = await complete(running().client, question, { n: 2 });
        return choices.map(({ message }) => message.content);
      }),
    );
    expect(await staying).toEqual(ANSWERS.map((answer) => [answer, answer]));
    await Promise.all(leaving);
    await running().idle();
  });
}

describe.each(CACHES)("with %s", (_, args) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(...args);
  });
  afterAll(() => server.stop());

  answersEachAsAlone(() => server);

  test("64 concurrent requests get the answers that each gets alone", async () => {
    const asked = Array.from({ length: 64 }, (_, i) => KNOWN[(5 * i) % KNOWN.length]!);
    const answers = await Promise.all(asked.map(([question]) => ask(server.client, question)));
    expect(answers).toEqual(asked.map(([, answer]) => answer));
    await server.idle();
  });
});

describe.each([["split"], ["unified"]])("a %s cache", (kv) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer("--kv", kv);
  });
  afterAll(() => server.stop());

  test("each request alone is answered", async () => {
    for (const [question, answer] of KNOWN) expect(await ask(server.client, question)).toBe(answer);
  });

  answersEachAsAlone(() => server);

  describe("a shared prefix", () => {
    const prefix = "You are a careful labeller. ".repeat(40);

    async function computed(questions: string[]): Promise<number[]> {
      const asked = questions.map((question): Promise<OpenAI.ChatCompletion> => {
        const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: prefix }, user(question)];
        return complete(server.client, messages, { max_tokens: 4 });
      });
      const usages = (await Promise.all(asked)).map(({ usage }) => usage!);
      return usages.map(
        ({ prompt_tokens, prompt_tokens_details }) => prompt_tokens - prompt_tokens_details!.cached_tokens!,
      );
    }

    test("is computed once for concurrent requests", async () => {
      const costs = await computed(Array.from({ length: 16 }, (_, i) => `Count from ${i + 1} to ${i + 5}.`));
      const [whole, ...others] = costs.sort((a, b) => b - a);
      expect(whole).toBeGreaterThan(200);
      // Each computes its own question and the head of the answer.
      for (const cost of others) expect(cost).toBeLessThanOrEqual(20);
    });

    test("is cached for later requests", async () => {
      const costs = await computed(["Capital of Chile?", "Capital of Ghana?"]);
      for (const cost of costs) expect(cost).toBeLessThanOrEqual(20);
    });

    test("is computed by another request when the first is cancelled", async () => {
      const long = "The kettle is fine. ".repeat(300);
      const abort = new AbortController();
      const asked = (question: string, signal?: AbortSignal) =>
        server.client.chat.completions.create(
          { model: "demo", messages: [{ role: "system", content: long }, user(question)], max_tokens: 2 },
          { signal },
        );
      const owner = asked("Capital of Cuba?", abort.signal);
      const left = expect(owner).rejects.toThrow("aborted");
      const others = Array.from({ length: 8 }, (_, i) => asked(`Count from ${i} to 30.`));
      await server.reaches("nightshift_requests_running", 1);
      abort.abort();
      await left;
      const usages = (await Promise.all(others)).map(({ usage }) => usage!);
      const costs = usages.map((usage) => usage.prompt_tokens - usage.prompt_tokens_details!.cached_tokens!);
      // At most one of them computed the rest of the prefix.
      expect(costs.filter((cost) => cost > 20).length).toBeLessThanOrEqual(1);
      await server.idle();
    });
  });
});
