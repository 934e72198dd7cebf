import { ApiError } from "../../../openapi/api-error.ts";
import { chatRequest } from "../../../openapi/generation/chat.ts";
import { completionRequest } from "../../../openapi/generation/completions.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";

export const chat = chatRequest(DEFAULT_REQUEST_LIMITS);
export const completion = completionRequest(DEFAULT_REQUEST_LIMITS);
export const MESSAGES = [{ role: "user", content: "hi" }];

/** The error of a chat body with these fields, or null. */
export function chatFault(fields: object): ApiError | null {
  return fault(() => validate(chat, { model: "demo", messages: MESSAGES, ...fields }));
}

export function promptFault(prompt: unknown): ApiError | null {
  return fault(() => validate(completion, { model: "demo", prompt }));
}

export function fault(act: () => unknown): ApiError | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
