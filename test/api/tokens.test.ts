import { afterAll, beforeAll, expect, test } from "vitest";
import type { z } from "zod";
import { errorResponse } from "../../openapi/error-response.ts";
import { dryRunResponse } from "../../openapi/generation/dry-run.ts";
import { detokenizeResponse, tokenizeResponse } from "../../openapi/resources/tokenize.ts";
import { complete, user } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1");
});
afterAll(() => server.stop());

async function asked<T extends z.ZodType>(schema: T, path: string, body: object): Promise<z.infer<T>> {
  const response = await server.post(path, body);
  return schema.parse(await response.json());
}

async function refusal(path: string, body: object) {
  return (await asked(errorResponse, path, body)).error;
}

const CHAT = { model: "demo", messages: [user("What is 7 + 8?")], nightshift: { dry_run: true } };

test("a dry run returns prompt, tokens and cost, and records nothing", async () => {
  const before = await server.metrics();
  const dry = await asked(dryRunResponse, "/v1/chat/completions", { ...CHAT, n: 2, max_tokens: 10 });
  const text = "<|im_start|>user\nWhat is 7 + 8?<|im_end|>\n<|im_start|>assistant\n";
  const input = dry.prompt_tokens * 100;
  expect(dry).toMatchObject({ prompts: [{ text, tokens: dry.prompt_tokens }], max_completion_tokens: 20 });
  expect(dry.cost_nano_usd.default).toEqual({ input, most: input + 20 * 400 });
  expect(dry.cost_nano_usd.batch).toEqual({ input: input / 2, most: (input + 20 * 400) / 2 });
  const { usage } = await complete(server.client, CHAT.messages, { max_tokens: 1 });
  expect(dry.prompt_tokens).toBe(usage!.prompt_tokens);
  const after = await server.metrics();
  expect(after.sum("nightshift_requests_total")).toBe(before.sum("nightshift_requests_total") + 1);
});

test("a dry run of completions uses their default max_tokens", async () => {
  const body = { model: "demo", prompt: ["a", "b"], n: 2, nightshift: { dry_run: true } };
  const dry = await asked(dryRunResponse, "/v1/completions", body);
  expect(dry).toMatchObject({ prompts: [{ text: "a" }, { text: "b" }], max_completion_tokens: 64 });
});

test("a dry run is refused as the request would be", async () => {
  const messages = [user("one two three ".repeat(4000))];
  const error = await refusal("/v1/chat/completions", { ...CHAT, messages });
  expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages" });
});

test.each(["/v1", ""])("%s/tokenize has vLLM's and llama-server's shapes, and /detokenize reverses it", async (at) => {
  const text = "Héllo <|im_end|> 🦉";
  const plain = await asked(tokenizeResponse, `${at}/tokenize`, { prompt: text, return_token_strs: true });
  expect(plain).toMatchObject({ count: plain.tokens.length, max_model_len: 4096 });
  expect(plain.token_strs).toHaveLength(plain.count);
  const back = await asked(detokenizeResponse, `${at}/detokenize`, { model: "demo", tokens: plain.tokens });
  expect(back).toEqual({ prompt: text, content: text });
  const { tokens } = await asked(tokenizeResponse, `${at}/tokenize`, { content: text, with_pieces: true });
  expect(tokens).toContainEqual({ id: 1021, piece: "<|im_end|>" });
  // Incomplete characters.
  expect(tokens.some((token) => typeof token === "object" && Array.isArray(token.piece))).toBe(true);
  const { count } = await asked(tokenizeResponse, `${at}/tokenize`, { messages: CHAT.messages });
  expect(count).toBe((await complete(server.client, CHAT.messages, { max_tokens: 1 })).usage!.prompt_tokens);
});

test.each([
  ["/v1/tokenize", {}, "prompt", "missing_required_parameter"],
  ["/v1/tokenize", { prompt: "a", content: "b" }, "prompt", "invalid_value"],
  ["/v1/tokenize", { messages: [{ role: "user" }] }, "messages[0].content", "missing_required_parameter"],
  ["/v1/tokenize", { model: "none", prompt: "a" }, "model", "model_not_found"],
  ["/v1/detokenize", { tokens: [5000] }, "tokens", "invalid_value"],
  ["/v1/detokenize", {}, "tokens", "missing_required_parameter"],
])("%s of %j is refused", async (path, body, param, code) => {
  expect(await refusal(path, body)).toMatchObject({ param, code });
});

test("a call without a text names the three fields that may hold it", async () => {
  const { message } = await refusal("/v1/tokenize", {});
  expect(message).toMatch(/^Missing required parameter: .*'prompt', 'content' and 'messages'/);
});

test("a text over the bound is refused, and one within it is counted without its pieces", async () => {
  const most = 1024 * 1024;
  const error = await refusal("/v1/tokenize", { prompt: "x".repeat(most + 1) });
  expect(error).toMatchObject({ code: "invalid_value", param: "prompt" });
  const { count, tokens } = await asked(tokenizeResponse, "/v1/tokenize", { prompt: "ab ".repeat(most / 3) });
  expect(tokens).toHaveLength(count);
  expect(count).toBeGreaterThan(most / 4);
});

test("a chat that cannot fit is refused by its bytes, also with many control tokens", async () => {
  const content = `${"x".repeat(16_400)}<|im_end|>`.repeat(200);
  const error = await refusal("/v1/chat/completions", { model: "demo", messages: [user(content)] });
  expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages" });
  expect(error.message).toContain("bytes");
});
