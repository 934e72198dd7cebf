import type OpenAI from "openai";
import type {
  UsageCompletionsParams,
  UsageCompletionsResponse,
  UsageCostsParams,
  UsageCostsResponse,
  UsageEmbeddingsResponse,
} from "openai/resources/admin/organization/usage";
import { expectTypeOf, it } from "vitest";
import type { z } from "zod";
import type { ChatChunk, ChatRequest, ChatResponse } from "../../../openapi/generation/chat.ts";
import type { CompletionRequest, CompletionResponse } from "../../../openapi/generation/completions.ts";
import type { ModelList } from "../../../openapi/resources/models.ts";
import type {
  CostsPage,
  costsQuery,
  EmbeddingsUsagePage,
  UsagePage,
  usageQuery,
} from "../../../openapi/resources/organization-usage.ts";
import type { ResponsesRequest } from "../../../openapi/responses/request.ts";
import type { ResponseObject } from "../../../openapi/responses/response.ts";

/** The type without null, which responses have for unset keys: the SDK's types leave most of them out. */
type Given<T> = { [Key in keyof T]: Exclude<T[Key], null> };
/** Keys of a response with more values than the SDK's types list, such as codes of errors. */
type Wider = "error" | "reasoning" | "tools" | "output";

// Checked by tsc: a response that does not match the SDK's types does not compile.
it("responses match the SDK's types", () => {
  expectTypeOf<ChatResponse>().toExtend<OpenAI.ChatCompletion>();
  expectTypeOf<ChatChunk>().toExtend<OpenAI.ChatCompletionChunk>();
  expectTypeOf<Given<Omit<ResponseObject, Wider>>>().toExtend<Omit<OpenAI.Responses.Response, Wider | "output_text">>();
  expectTypeOf<ModelList["data"][number]>().toExtend<OpenAI.Model>();
  // In the SDK's types, the fields of chunks alone are not nullable.
  expectTypeOf<CompletionResponse["usage"]>().toExtend<OpenAI.CompletionUsage>();
  expectTypeOf<UsagePage>().toExtend<UsageCompletionsResponse>();
  expectTypeOf<EmbeddingsUsagePage>().toExtend<UsageEmbeddingsResponse>();
  expectTypeOf<CostsPage>().toExtend<UsageCostsResponse>();
});

it("request schemas have every field of the SDK's requests", () => {
  type ChatFields = Exclude<keyof OpenAI.ChatCompletionCreateParams, keyof ChatRequest>;
  expectTypeOf<ChatFields>().toEqualTypeOf<never>();
  type CompletionFields = Exclude<keyof OpenAI.CompletionCreateParams, keyof CompletionRequest>;
  expectTypeOf<CompletionFields>().toEqualTypeOf<never>();
  type ResponseFields = Exclude<keyof OpenAI.Responses.ResponseCreateParams, keyof ResponsesRequest>;
  expectTypeOf<ResponseFields>().toEqualTypeOf<never>();
  type UsageFields = Exclude<keyof UsageCompletionsParams, keyof z.infer<typeof usageQuery>>;
  expectTypeOf<UsageFields>().toEqualTypeOf<never>();
  type CostsFields = Exclude<keyof UsageCostsParams, keyof z.infer<typeof costsQuery>>;
  expectTypeOf<CostsFields>().toEqualTypeOf<never>();
});
