import { expect, test } from "vitest";
import { pathAdvice } from "../../../../server/http/path-advice.ts";

test.each([
  ["/v1/v1/chat/completions", / base URL has \/v1 twice/],
  ["/chat/completions", / base URL lacks \/v1/],
  ["/models/demo", / base URL lacks \/v1/],
  ["/v1/responses", /Responses API is not served/],
  ["/responses/resp_1", /Responses API is not served/],
  ["/messages", / base URL lacks \/v1/],
  ["/api/chat", /Ollama's API is not served; --ollama on serves it/],
  ["/v1/assistants", /Assistants API is not served/],
  ["/v1/audio/speech", /part of OpenAI's API is not served/],
  ["/v1/messages-of-mine", /^$/],
  ["/v1/nothing", /^$/],
  ["/filesystem", /^$/],
])("the error for %s names the likely mistake", (path, advice) => {
  expect(pathAdvice(path)).toMatch(advice);
});
