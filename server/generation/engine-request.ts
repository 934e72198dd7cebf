import type { Asked } from "../../engine/engine.ts";
import type { Prompt } from "../../engine/protocol/prompt.ts";
import type { Tier } from "../../engine/protocol/request.ts";
import type { ChatRequest } from "../../openapi/generation/chat.ts";
import { type CompletionRequest, DEFAULT_MAX_TOKENS } from "../../openapi/generation/completions.ts";
import { answerGrammar } from "../../openapi/generation/response-format.ts";
import { offeredTools } from "../grammar/tool-choice.ts";
import { engineMessage } from "./engine-message.ts";
import { samplingOf } from "./engine-sampling.ts";

/** The engine's request for a valid body. */
export function chatSubmission(body: ChatRequest): Asked {
  const prompt: Prompt = {
    kind: "chat",
    messages: body.messages.map(engineMessage),
    variables: templateVariables(body),
    thinking: { effort: body.reasoning_effort ?? null, budget: thoughtBudget(body) },
    tools: offeredTools(body),
  };
  return {
    ...shared(body),
    prompt,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    echo: false,
    logprobs: body.logprobs === true ? { top: body.top_logprobs ?? 0, prompt: false } : null,
  };
}

/** One engine request per prompt. */
export function completionSubmissions(body: CompletionRequest): Asked[] {
  const common = shared(body);
  const maxTokens = body.max_tokens ?? DEFAULT_MAX_TOKENS;
  const echo = body.echo ?? false;
  const logprobs = body.logprobs == null ? null : { top: body.logprobs, prompt: echo };
  return prompts(body.prompt).map((prompt) => ({ ...common, prompt, maxTokens, echo, logprobs }));
}

function prompts(given: CompletionRequest["prompt"]): Prompt[] {
  if (typeof given === "string") return [{ kind: "text", text: given }];
  if (isTokens(given)) return [{ kind: "tokens", tokens: given }];
  return given.map((item) =>
    typeof item === "string" ? { kind: "text", text: item } : { kind: "tokens", tokens: item },
  );
}

function isTokens(given: string[] | number[] | number[][]): given is number[] {
  return typeof given[0] === "number";
}

function shared(body: ChatRequest | CompletionRequest) {
  const stop = body.stop ?? [];
  const gbnf = answerGrammar(body);
  return {
    tier: tierOf(body.service_tier),
    n: body.n ?? 1,
    minTokens: body.min_tokens ?? 0,
    stop: typeof stop === "string" ? [stop] : stop,
    stopTokenIds: body.stop_token_ids ?? [],
    ignoreEos: body.ignore_eos ?? false,
    sampling: samplingOf(body),
    grammar: gbnf === null ? null : { gbnf, triggers: null },
  };
}

export function tierOf(asked: ChatRequest["service_tier"]): Exclude<Tier, "batch"> {
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

function templateVariables(body: ChatRequest): Record<string, unknown> {
  const given = Object.entries(body.chat_template_kwargs ?? {}).filter(([, value]) => value !== null);
  return { ...(body.verbosity != null && { verbosity: body.verbosity }), ...Object.fromEntries(given) };
}

/** The field has one name in vLLM and two in llama-server. */
function thoughtBudget(body: ChatRequest): number | null {
  const tokens = body.thinking_token_budget ?? body.thinking_budget_tokens ?? body.reasoning_budget_tokens ?? null;
  return tokens === -1 ? Number.POSITIVE_INFINITY : tokens;
}
