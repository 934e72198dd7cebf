import { z } from "zod";
import { validate } from "../../../openapi/generation/validate.ts";
import { keepAlive, modelName } from "../../../openapi/ollama/fields.ts";

/** A request without a prompt: its model is loaded, or leaves the memory. */
export interface LoadRequest {
  model: string;
  unload: boolean;
}

const loadRequest = z.object({ model: modelName, keep_alive: keepAlive });

/** A number or a duration of Go that is zero. Each part ends with a unit, so that no text is tried in many divisions. */
const ZERO = /^[+-]?(?:0+(?:\.0*)?|(?:0+(?:\.0*)?(?:ns|us|µs|ms|s|m|h))+)$/;

/** A field of a body that has a prompt, or a part of one. */
export type PromptField = "messages" | "prompt" | "suffix" | "input";

/** The body as a request to load its model; null for one with a prompt in these fields. Throws the ApiError of an invalid one. */
export function readLoad(json: unknown, fields: readonly PromptField[]): LoadRequest | null {
  const body: Record<string, unknown> = Object(json);
  if (fields.some((field) => !isEmpty(body[field]))) return null;
  const { model, keep_alive } = validate(loadRequest, json);
  return { model, unload: keep_alive === 0 || (typeof keep_alive === "string" && ZERO.test(keep_alive)) };
}

function isEmpty(prompt: unknown): boolean {
  return prompt == null || prompt === "" || (Array.isArray(prompt) && prompt.length === 0);
}
