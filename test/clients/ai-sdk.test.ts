import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, cosineSimilarity, embedMany, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startServer, type TestServer } from "../api/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1");
});
afterAll(() => server.stop());

function nightshift() {
  return createOpenAICompatible({
    name: "nightshift",
    baseURL: `${server.origin}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
}

function demo() {
  return { model: nightshift()("demo"), temperature: 0, maxRetries: 0 };
}

/** A tool, and the cities of its calls. */
function weather() {
  const asked: string[] = [];
  const getWeather = tool({
    description: "Get the weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked.push(city);
      // As text, because the SDK writes an object without the space that the demo model was trained on.
      return '{"temperature": 31}';
    },
  });
  return { asked, tools: { get_weather: getWeather } };
}

const Person = z.object({ name: z.string(), age: z.int(), city: z.string() });
const ABOUT_HUGO = "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.";
const HUGO = { name: "Hugo", age: 41, city: "Lima" };

test("streamText streams, with finish reason and usage", async () => {
  const result = streamText({ ...demo(), prompt: "Count from 3 to 12." });
  const pieces: string[] = [];
  for await (const piece of result.textStream) pieces.push(piece);
  expect(pieces.join("")).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  expect(pieces.length).toBeGreaterThan(3);
  expect(await result.finishReason).toBe("stop");
  const { inputTokens, outputTokens, totalTokens } = await result.usage;
  expect(outputTokens).toBeGreaterThan(10);
  expect(totalTokens).toBe(inputTokens! + outputTokens!);
});

test("generateText calls the tool and answers from its result", async () => {
  const { asked, tools } = weather();
  const options = { ...demo(), tools, stopWhen: stepCountIs(3) };
  const { text, steps } = await generateText({ ...options, prompt: "Weather in Cairo?" });
  expect(asked).toEqual(["Cairo"]);
  expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  expect(text).toBe("It is 31 degrees in Cairo.");
});

test("streamText calls the tool with streamed arguments", async () => {
  const { asked, tools } = weather();
  const result = streamText({ ...demo(), tools, stopWhen: stepCountIs(3), prompt: "Weather in Cairo?" });
  let args = "";
  let text = "";
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "tool-input-delta") args += part.delta;
    if (part.type === "text-delta") text += part.text;
  }
  expect(JSON.parse(args)).toEqual({ city: "Cairo" });
  expect(asked).toEqual(["Cairo"]);
  expect(text).toBe("It is 31 degrees in Cairo.");
});

test("toolChoice forces a tool call", async () => {
  const { asked, tools } = weather();
  await generateText({ ...demo(), tools, toolChoice: "required", prompt: "Capital of France?" });
  expect(asked).toHaveLength(1);
});

test("Output.object follows its zod schema and is filled from the text", async () => {
  const { output } = await generateText({ ...demo(), output: Output.object({ schema: Person }), prompt: ABOUT_HUGO });
  expect(output).toEqual(HUGO);
});

test("Output.object follows its schema against the model's preference, also while streaming", async () => {
  const schema = z.object({
    mood: z.enum(["glad", "sad"]),
    ages: z.record(z.enum(["Ann", "Bob"]), z.int().min(0).max(99)),
  });
  const { partialOutputStream, output } = streamText({
    ...demo(),
    output: Output.object({ schema }),
    prompt: "Hello!",
  });
  let parts = 0;
  for await (const part of partialOutputStream) if (part !== undefined) parts++;
  expect(parts).toBeGreaterThan(0);
  expect(schema.safeParse(await output).error).toBeUndefined();
});

test("embedMany keeps the order of its texts", async () => {
  const texts = ["The cat sat on the mat.", "Count from 3 to 7.", "The cat sat on the mat."];
  const { embeddings, usage } = await embedMany({ model: nightshift().embeddingModel("demo"), values: texts });
  const [first, second, third] = embeddings;
  expect(cosineSimilarity(first!, third!)).toBeCloseTo(1, 5);
  expect(cosineSimilarity(first!, second!)).toBeLessThan(0.999);
  expect(usage.tokens).toBeGreaterThan(10);
});

test("a rejection is the SDK's own error with the server's message", async () => {
  const wrong = generateText({ ...demo(), model: nightshift()("unknown"), prompt: "Hello!" });
  const error: unknown = await wrong.catch((reason: unknown) => reason);
  if (!APICallError.isInstance(error)) throw new Error(`not a refusal: ${error}`);
  expect(error.statusCode).toBe(404);
  expect(error.isRetryable).toBe(false);
  expect(error.message).toContain("unknown");
});
