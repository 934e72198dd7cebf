import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { messagesDialect } from "../dialects/anthropic/messages.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";

/** Reads bodies of POST /v1/messages, and lines of a message batch: those have the body in `params`. */
export function messageLineDialect(limits: RequestLimits): Dialect {
  const dialect = messagesDialect(limits);
  return {
    ...dialect,
    read(body, owner) {
      const request = dialect.read(paramsOf(body) ?? body, owner);
      if (request.dryRun) {
        throw invalidRequest("unsupported_value", "nightshift.dry_run", "A batch line can't be a dry run.");
      }
      // Zero only reads the prompt into the prefix cache, for a request that follows soon.
      if (request.submissions.some(({ maxTokens }) => maxTokens === 0)) {
        throw invalidRequest("invalid_value", "max_tokens", "Invalid 'max_tokens': a batch line needs at least 1.");
      }
      return request;
    },
  };
}

/**
 * Throws the error of a request that names another model than its batch, which has one.
 *
 * @param idOf the own name of the model that a name means; undefined for none
 */
export function checkLineModel(body: unknown, idOf: (name: string) => string | undefined, batchModel: string): void {
  const { model: name }: { model?: unknown } = Object(paramsOf(body));
  // The schema of the body reports a missing name.
  if (typeof name !== "string") return;
  const id = idOf(name);
  const param = "model";
  if (id === undefined)
    throw new ApiError("model_not_found", `The model '${name.slice(0, 64)}' does not exist.`, { param });
  if (id === batchModel) return;
  const message = `Invalid 'model': requests of this batch run on '${batchModel}', the model of its first request.`;
  throw invalidRequest("invalid_value", param, message);
}

/** Undefined for a body that is no line of a message batch. */
function paramsOf(body: unknown): unknown {
  const { params }: { params?: unknown } = Object(body);
  return params;
}
