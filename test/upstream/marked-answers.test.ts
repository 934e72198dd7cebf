import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServedFakes } from "./served.ts";

const user = (content: string) => ({ role: "user" as const, content });
const MARK = { nightshift: { upstream: "m" } };

let served: ServedFakes;
beforeAll(async () => {
  served = await ServedFakes.start({ m: {} });
});
afterAll(() => served.stop());

test("the openai package reads responses that name their upstream", async () => {
  const { responses } = served.server.client;
  const whole = await responses.create({ model: "m", input: "a b" });
  expect(whole).toMatchObject({ ...MARK, output_text: "a b" });
  expect(await responses.retrieve(whole.id)).toMatchObject(MARK);
  const final = await responses.stream({ model: "m", input: "c d" }).finalResponse();
  expect(final).toMatchObject({ ...MARK, output_text: "c d" });
});

test("Anthropic's package reads messages that name their upstream", async () => {
  const { messages } = new Anthropic({ baseURL: served.server.origin, apiKey: "none", maxRetries: 0 });
  const body = { model: "m", max_tokens: 9, messages: [user("a b")] };
  const content = [{ type: "text", text: "a b" }];
  expect(await messages.create(body)).toMatchObject({ ...MARK, content });
  expect(await messages.stream(body).finalMessage()).toMatchObject({ ...MARK, content });
});

test("Ollama's package reads answers that name their upstream", async () => {
  const ollama = new Ollama({ host: served.server.origin });
  const whole = await ollama.chat({ model: "m", messages: [user("a b")] });
  expect(whole).toMatchObject({ ...MARK, message: { content: "a b" } });
  let text = "";
  for await (const line of await ollama.generate({ model: "m", prompt: "c d", stream: true })) {
    expect(line).toMatchObject(MARK);
    text += line.response;
  }
  expect(text).toBe("c d");
});
