import { expect, test } from "vitest";
import { anthropicErrorBody, anthropicStatus } from "../../../../openapi/anthropic/error.ts";
import { messagesRequest } from "../../../../openapi/anthropic/messages.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import type { ErrorKey } from "../../../../openapi/errors.ts";
import { validate } from "../../../../openapi/generation/validate.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";

test.each<[ErrorKey, number, string]>([
  ["invalid_value", 400, "invalid_request_error"],
  ["invalid_api_key", 401, "authentication_error"],
  ["insufficient_quota", 402, "billing_error"],
  ["missing_scope", 403, "permission_error"],
  ["model_not_found", 404, "not_found_error"],
  ["method_not_allowed", 405, "invalid_request_error"],
  ["request_too_large", 413, "request_too_large"],
  ["rate_limit_exceeded", 429, "rate_limit_error"],
  ["internal_error", 500, "api_error"],
  ["model_loading", 503, "api_error"],
  ["batch_expired", 504, "timeout_error"],
  ["server_is_overloaded", 529, "overloaded_error"],
  ["resource_unavailable", 529, "overloaded_error"],
])("%s is %i %s", (key, status, type) => {
  const error = new ApiError(key, "No.");
  expect(anthropicStatus(error)).toBe(status);
  expect(anthropicErrorBody(error, "req_1")).toEqual({
    type: "error",
    error: { type, message: "No." },
    request_id: "req_1",
  });
});

const BODY = { model: "demo", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] };

function refusal(fields: object): string {
  try {
    validate(messagesRequest(DEFAULT_REQUEST_LIMITS), { ...BODY, ...fields });
  } catch (error) {
    if (error instanceof ApiError) return anthropicErrorBody(error, "").error.message;
    throw error;
  }
  throw new Error("the body is valid");
}

const IMAGE = { type: "image", source: { type: "url", url: "https://a/b.png" } };
const TYPED = { type: "bash_20250124", name: "bash" };

test.each<[object, string]>([
  [{ max_tokens: undefined }, "max_tokens: Field required"],
  [{ max_tokens: -1 }, "max_tokens: expected a value of at least 0, but got -1 instead."],
  [{ messages: [] }, "messages: expected at least 1 item, but got 0 items instead."],
  [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages.0.content.0.text: Field required"],
  [{ messages: [{ role: "user", content: [IMAGE] }] }, "messages.0.content.0: only text is supported, not 'image'."],
  [
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [IMAGE] }] }] },
    "messages.0.content.0.content.0: only text is supported, not 'image'.",
  ],
  [{ mcp_servers: [{}] }, "mcp_servers: MCP servers are not supported; pass their tools in `tools`."],
  [{ tools: [{ name: "f" }] }, "tools.0.input_schema: Field required"],
  [{ tool_choice: { type: "any" } }, "tool_choice: it is only allowed when 'tools' are given."],
  [{ tools: [TYPED], tool_choice: { type: "any" } }, "tool_choice: it is only allowed when 'tools' are given."],
  [
    { tools: [TYPED], tool_choice: { type: "tool", name: "bash" } },
    "tool_choice.name: tools of type 'bash_20250124' are not supported; describe a tool by its input_schema.",
  ],
  [{ tools: [TYPED, TYPED] }, "tools.1.name: another tool has the same name."],
])("%j is refused with the path of its field", (fields, message) => {
  expect(refusal(fields)).toBe(message);
});
