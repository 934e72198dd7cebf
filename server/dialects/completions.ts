import { type CompletionResponse, completionRequest } from "../../openapi/generation/completions.ts";
import type { Usage } from "../../openapi/generation/usage.ts";
import { validate } from "../../openapi/generation/validate.ts";
import type { Unwritten } from "../../openapi/json/json-pieces.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { completionSubmissions, tierOf } from "../generation/engine-request.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import type { WholeChoice } from "../generation/output/body-sink.ts";
import type { AnswerIdentity } from "../generation/output/chunk-format.ts";
import { CompletionChunks } from "../generation/output/completion-chunks.ts";
import { lateCompletionLogprobs } from "../generation/output/completion-logprobs.ts";
import type { GenerationRequest } from "../generation/request.ts";

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
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new CompletionChunks(identity, includeUsage),
      whole: textCompletion,
    };
  };
}

function textCompletion(
  identity: AnswerIdentity,
  choices: readonly WholeChoice[],
  usage: Usage,
): Unwritten<CompletionResponse> {
  return {
    id: identity.id,
    object: "text_completion",
    created: identity.created,
    model: identity.model,
    service_tier: identity.tier,
    system_fingerprint: identity.fingerprint,
    choices: choices.map(({ text, reasoning, finish, logprobs, promptLogprobs }, index) => ({
      text,
      index,
      logprobs: logprobs === null ? null : lateCompletionLogprobs([...promptLogprobs, ...logprobs]),
      finish_reason: finish,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
    })),
    usage,
  };
}
