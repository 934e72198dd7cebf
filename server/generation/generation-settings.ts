import type { LogprobsWanted, OnlineTier } from "../../engine/protocol/request.ts";
import type { SamplingBody } from "../../openapi/generation/sampling-fields.ts";
import { samplingOf } from "./engine-sampling.ts";
import type { GenerationSettings } from "./turn.ts";

interface Bounds {
  /** Null runs until the context is full. */
  maxTokens: number | null;
  logprobs: LogprobsWanted | null;
}

/** The settings of a valid body, with the defaults of OpenAI's API. */
export function generationSettings(body: SamplingBody, { maxTokens, logprobs }: Bounds): GenerationSettings {
  const stop = body.stop ?? [];
  return {
    tier: tierOf(body.service_tier),
    n: body.n ?? 1,
    maxTokens,
    minTokens: body.min_tokens ?? 0,
    stop: typeof stop === "string" ? [stop] : stop,
    stopTokenIds: body.stop_token_ids ?? [],
    ignoreEos: body.ignore_eos ?? false,
    sampling: samplingOf(body),
    logprobs,
  };
}

/** True for a client that leaves the tier to the server in so many words: without the field it expects `default`. */
export function leavesTier(asked: SamplingBody["service_tier"]): boolean {
  return asked === "auto";
}

export function tierOf(asked: SamplingBody["service_tier"]): OnlineTier {
  switch (asked) {
    case "priority":
    case "fast":
      return "priority";
    case "flex":
      return "flex";
    default:
      return "default";
  }
}
