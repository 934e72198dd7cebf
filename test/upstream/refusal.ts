import type { Asked } from "./asked.ts";
import type { Dialect } from "./dialect.ts";
import type { SeenRequest } from "./seen-request.ts";
import { DEFAULT_CONTEXT, type UpstreamOptions } from "./upstream-options.ts";

/** Status and body with which an engine refuses a request; null: it takes it. */
export function refusalOf(
  { path, headers, body }: SeenRequest,
  asked: Asked,
  model: string,
  { unknownFields, anyModel, error, tooLong }: Dialect,
  { kind, apiKey, priority, context = DEFAULT_CONTEXT }: UpstreamOptions,
): [number, unknown] | null {
  const keyless = keyRefusal({ path, headers }, error, apiKey);
  if (keyless !== null) return keyless;
  if (typeof body !== "object" || body === null) return [400, error(400, "The body is no JSON object.", null)];
  if (asked.model !== "" && asked.model !== model && !anyModel) {
    return [404, error(404, `The model \`${asked.model}\` does not exist.`, "model_not_found")];
  }
  const unknown = unknownFields.find((field) => Object.hasOwn(body, field));
  if (unknown !== undefined) return [400, error(400, `Unknown parameter: '${unknown}'.`, "unknown_parameter")];
  if (kind === "vllm" && priority !== true && asked.priority !== 0) {
    return [400, error(400, `Got priority ${asked.priority} but Priority scheduling is not enabled.`, null)];
  }
  if (asked.promptTokens < context) return null;
  return [400, error(400, tooLong(asked.promptTokens, context), "context_length_exceeded")];
}

/** Of a request below `/v1` without the key. */
export function keyRefusal(
  { path, headers }: Pick<SeenRequest, "path" | "headers">,
  error: Dialect["error"],
  apiKey: string | undefined,
): [number, unknown] | null {
  const wrong = apiKey !== undefined && path.startsWith("/v1/") && headers.authorization !== `Bearer ${apiKey}`;
  return wrong ? [401, error(401, "Incorrect API key provided.", "invalid_api_key")] : null;
}
