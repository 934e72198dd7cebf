import { z } from "zod";
import type { ApiError } from "../api-error.ts";
import type { ErrorKey } from "../errors.ts";

/** The body of an error, and the last line of a stream that fails. */
export const ollamaError = z.object({ error: z.string() });

interface Wording {
  key: ErrorKey;
  param: string | null;
  /** Ollama's words; clients look for them in the text. */
  words: string;
}

const WORDINGS: readonly Wording[] = [
  { key: "missing_required_parameter", param: "model", words: "model is required" },
  { key: "invalid_value", param: "top_logprobs", words: "top_logprobs must be between 0 and 20" },
  { key: "invalid_value", param: "raw", words: "raw mode does not support template, system, or context" },
  { key: "invalid_type", param: "input", words: "invalid input type" },
  { key: "context_length_exceeded", param: "input", words: "the input length exceeds the context length" },
];

/** An error in Ollama's form, and in its words where it has some. */
export function ollamaErrorBody({ key, param, message }: ApiError): z.infer<typeof ollamaError> {
  const words = WORDINGS.find((wording) => wording.key === key && wording.param === param)?.words;
  if (words === undefined) return { error: message };
  return { error: message.includes(words) ? words : `${words}: ${message}` };
}
