import type OpenAI from "openai";
import { expectTypeOf, it } from "vitest";
import type { ChatChunk, ChatRequest, ChatResponse } from "../../../openapi/chat.ts";
import type { CompletionRequest, CompletionResponse } from "../../../openapi/completions.ts";
import type { ModelList } from "../../../openapi/models.ts";

// Checked by tsc: a response that the SDK's types would not take does not compile.
it("responses are what the SDK's types promise", () => {
  expectTypeOf<ChatResponse>().toExtend<OpenAI.ChatCompletion>();
  expectTypeOf<ChatChunk>().toExtend<OpenAI.ChatCompletionChunk>();
  expectTypeOf<ModelList["data"][number]>().toExtend<OpenAI.Model>();
  // The SDK knows no null for the fields that only chunks have.
  expectTypeOf<CompletionResponse["usage"]>().toExtend<OpenAI.CompletionUsage>();
});

it("every field of the SDK's requests has its place in ours", () => {
  type ChatFields = Exclude<keyof OpenAI.ChatCompletionCreateParams, keyof ChatRequest>;
  expectTypeOf<ChatFields>().toEqualTypeOf<never>();
  type CompletionFields = Exclude<keyof OpenAI.CompletionCreateParams, keyof CompletionRequest>;
  expectTypeOf<CompletionFields>().toEqualTypeOf<never>();
});
