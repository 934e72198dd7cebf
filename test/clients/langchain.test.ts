import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startServer, type TestServer } from "../api/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1");
});
afterAll(() => server.stop());

function access() {
  return { model: "demo", apiKey: "none", configuration: { baseURL: `${server.origin}/v1` }, maxRetries: 0 };
}

function chat(): ChatOpenAI {
  return new ChatOpenAI({ ...access(), temperature: 0 });
}

const getWeather = tool(() => '{"temperature": 31}', {
  name: "get_weather",
  description: "Get the weather of a city",
  schema: z.object({ city: z.string() }),
});

const Person = z.object({ name: z.string(), age: z.int(), city: z.string() });

describe("ChatOpenAI", () => {
  test("invoke answers with usage", async () => {
    const { content, usage_metadata, response_metadata } = await chat().invoke("Capital of France?");
    expect(content).toBe("The capital of France is Paris.");
    expect(usage_metadata!.output_tokens).toBeGreaterThan(3);
    expect(usage_metadata!.total_tokens).toBe(usage_metadata!.input_tokens + usage_metadata!.output_tokens);
    expect(response_metadata.finish_reason).toBe("stop");
  });

  test("stream gives chunks that add up to the answer, with usage", async () => {
    const pieces: string[] = [];
    let tokens = 0;
    for await (const { text, usage_metadata } of await chat().stream("Count from 3 to 12.")) {
      pieces.push(text);
      tokens += usage_metadata?.output_tokens ?? 0;
    }
    expect(pieces.join("")).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
    expect(pieces.filter(Boolean).length).toBeGreaterThan(3);
    expect(tokens).toBeGreaterThan(10);
  });

  test("bindTools calls the tool, and the model answers from its result", async () => {
    const bound = chat().bindTools([getWeather]);
    const question = new HumanMessage("Weather in Cairo?");
    const asked = await bound.invoke([question]);
    expect(asked.tool_calls).toMatchObject([{ name: "get_weather", args: { city: "Cairo" }, type: "tool_call" }]);
    const result: unknown = await getWeather.invoke(asked.tool_calls![0]!);
    if (!ToolMessage.isInstance(result)) throw new Error(`no message of a tool: ${result}`);
    const answer = await bound.invoke([question, asked, result]);
    expect(answer.content).toBe("It is 31 degrees in Cairo.");
  });

  test("bindTools streams chunks that add up to the call", async () => {
    const stream = await chat().bindTools([getWeather]).stream("Weather in Cairo?");
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk));
    expect(whole.tool_calls).toMatchObject([{ name: "get_weather", args: { city: "Cairo" } }]);
  });

  test("withStructuredOutput by jsonSchema fills the answer from the text", async () => {
    const person = chat().withStructuredOutput(Person, { method: "jsonSchema", name: "person" });
    const found = await person.invoke("Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.");
    expect(found).toEqual({ name: "Hugo", age: 41, city: "Lima" });
  });

  test("withStructuredOutput by functionCalling reads the arguments of a forced call", async () => {
    // The function as the demo model was trained on it; it has seen no other form.
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const weather = { name: "get_weather", description: "Get the weather of a city", parameters };
    const city = chat().withStructuredOutput(weather, { method: "functionCalling" });
    expect(await city.invoke("Weather in Cairo?")).toEqual({ city: "Cairo" });
  });

  test.each(["jsonSchema", "functionCalling"] as const)("strict withStructuredOutput by %s holds", async (method) => {
    const schema = z.object({ mood: z.enum(["glad", "sad"]), level: z.int().min(1).max(5) });
    const mood = chat().withStructuredOutput(schema, { method, name: "mood", strict: true });
    expect(schema.safeParse(await mood.invoke("Capital of France?")).error).toBeUndefined();
  });

  test("a rejection has its status and code", async () => {
    const unknown = new ChatOpenAI({ ...access(), model: "unknown" }).invoke("Hello!");
    await expect(unknown).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });
});

test("OpenAIEmbeddings makes the same vector of a query as of a document", async () => {
  const embeddings = new OpenAIEmbeddings({ ...access(), dimensions: 32 });
  const texts = ["The cat sat on the mat.", "Count from 3 to 7."];
  const [first, second] = await embeddings.embedDocuments(texts);
  const query = await embeddings.embedQuery(texts[0]!);
  expect([first, second].map((vector) => vector!.length)).toEqual([32, 32]);
  for (const [i, value] of query.entries()) expect(value).toBeCloseTo(first![i]!, 4);
  expect(Math.abs(query.reduce((sum, value, i) => sum + value * second![i]!, 0))).toBeLessThan(0.999);
});
