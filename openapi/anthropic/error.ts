import { z } from "zod";
import type { ApiError } from "../api-error.ts";

export const ANTHROPIC_ERROR_TYPES = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "timeout_error",
  "overloaded_error",
  "api_error",
] as const;
type AnthropicErrorType = (typeof ANTHROPIC_ERROR_TYPES)[number];

/** The body of an error, and the data of the event `error`. */
export const anthropicError = z.object({
  type: z.literal("error"),
  error: z.object({
    type: z.enum(ANTHROPIC_ERROR_TYPES),
    message: z.string().describe("Begins with the field at fault, such as `messages.0.content`, where there is one."),
  }),
  request_id: z.string(),
});
export type AnthropicError = z.infer<typeof anthropicError>;

const TYPES: Readonly<Record<number, AnthropicErrorType>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** The status of an error in Anthropic's API: it has statuses of its own for overload and for used budgets. */
export function anthropicStatus({ key, status }: Pick<ApiError, "key" | "status">): number {
  if (key === "server_is_overloaded" || key === "resource_unavailable") return 529;
  return key === "insufficient_quota" ? 402 : status;
}

export function anthropicErrorBody(error: ApiError, requestId: string): AnthropicError {
  const status = anthropicStatus(error);
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: messageOf(error) }, request_id: requestId };
}

/** Text before the rule in messages of validation. */
const NAMED = /^(?:Invalid(?: type for)?|Unsupported (?:parameter|value):) '[^']*': /;

function messageOf({ key, param, message, excess }: ApiError): string {
  // Clients compare the two numbers, and shorten the conversation.
  if (excess !== undefined) return `prompt is too long: ${excess.tokens} tokens > ${excess.most} maximum`;
  if (param === null) return message;
  const path = param.replace(/\[(\d+)\]/g, ".$1");
  return `${path}: ${key === "missing_required_parameter" ? "Field required" : message.replace(NAMED, "")}`;
}
