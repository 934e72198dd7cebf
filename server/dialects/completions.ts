import { completionRequest } from "../../openapi/generation/completions.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { completionSubmissions, tierOf } from "../generation/engine-request.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { unusedSamplerFields } from "../generation/unused-samplers.ts";
import { CompletionChunks, textCompletion } from "./completion-response.ts";

/** POST /v1/completions. */
export function completionDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/v1/completions", idPrefix: "cmpl", read: completionReader(limits) };
}

function completionReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = completionRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const includeUsage = body.stream_options?.include_usage ?? false;
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      submissions: completionSubmissions(body),
      toolChoice: null,
      stream: body.stream ?? false,
      includeUsage,
      ignored: [...ignoredNames(Object(json), schema), ...unusedSamplerFields(body)],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new CompletionChunks(identity, includeUsage),
      whole: textCompletion,
    };
  };
}
