import type { Asked } from "../../engine/engine.ts";
import type { Prompt } from "../../engine/protocol/prompt.ts";
import { type CompletionRequest, completionRequest, DEFAULT_MAX_TOKENS } from "../../openapi/generation/completions.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { answerForm, formRule } from "../generation/answer-form.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import { generationSettings, leavesTier, tierOf } from "../generation/generation-settings.ts";
import { infillPrompt } from "../generation/infill-prompt.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { unusedSamplerFields } from "../generation/unused-samplers.ts";
import { CompletionChunks, textCompletion } from "./completion-response.ts";

/** POST /v1/completions. */
export function completionDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/v1/completions", idPrefix: "cmpl-", read: completionReader(limits) };
}

function completionReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = completionRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const includeUsage = body.stream_options?.include_usage ?? false;
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      openTier: leavesTier(body.service_tier),
      submissions: completionSubmissions(body),
      toolChoice: null,
      stream: body.stream ?? false,
      ignored: [...ignoredNames(Object(json), schema), ...unusedSamplerFields(body)],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new CompletionChunks(identity, includeUsage),
      whole: textCompletion,
    };
  };
}

/** One engine request per prompt. */
function completionSubmissions(body: CompletionRequest): Asked[] {
  const echo = body.echo ?? false;
  const settings = generationSettings(body, {
    maxTokens: body.max_tokens ?? DEFAULT_MAX_TOKENS,
    logprobs: body.logprobs == null ? null : { top: body.logprobs, prompt: echo },
  });
  const grammar = formRule(answerForm(body));
  return prompts(body).map((prompt) => ({ ...settings, prompt, grammar, echo }));
}

function prompts({ prompt: given, suffix }: CompletionRequest): Prompt[] {
  if (typeof given === "string") return [textPrompt(given, suffix)];
  if (isTokens(given)) return [{ kind: "tokens", tokens: given }];
  return given.map((item) => (typeof item === "string" ? textPrompt(item, suffix) : { kind: "tokens", tokens: item }));
}

function textPrompt(text: string, suffix: CompletionRequest["suffix"]): Prompt {
  return suffix == null || suffix === "" ? { kind: "text", text } : infillPrompt(text, suffix);
}

function isTokens(given: string[] | number[] | number[][]): given is number[] {
  return typeof given[0] === "number";
}
