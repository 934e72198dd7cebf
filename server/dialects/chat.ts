import { chatRequest } from "../../openapi/generation/chat.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { chatSubmission, tierOf } from "../generation/engine-request.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { unusedSamplerFields } from "../generation/unused-samplers.ts";
import { toolChoice } from "../grammar/tool-choice.ts";
import { ChatChunks, chatCompletion } from "./chat-response.ts";

/** POST /v1/chat/completions. */
export function chatDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/v1/chat/completions", idPrefix: "chatcmpl", read: chatReader(limits) };
}

export function chatReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = chatRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const includeUsage = body.stream_options?.include_usage ?? false;
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      submissions: [chatSubmission(body)],
      toolChoice: toolChoice(body),
      stream: body.stream ?? false,
      includeUsage,
      ignored: [...ignoredNames(Object(json), schema), ...unusedSamplerFields(body)],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new ChatChunks(identity, includeUsage),
      whole: chatCompletion,
    };
  };
}
