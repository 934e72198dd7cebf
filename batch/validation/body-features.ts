import type { RequestFeature } from "../../engine/protocol/config.ts";
import type { MessagesRequest } from "../../openapi/anthropic/messages.ts";
import type { ChatRequest } from "../../openapi/generation/chat.ts";
import type { CompletionRequest } from "../../openapi/generation/completions.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { ResponsesRequest } from "../../openapi/responses/request.ts";

type Sampled = ChatRequest | CompletionRequest | ResponsesRequest;
type Tool = { type?: string | null | undefined };

/** The parts of requests that a valid body uses for certain, of those that some upstreams do not take. */
export function bodyFeatures(endpoint: BatchEndpoint, body: Sampled | MessagesRequest): Set<RequestFeature> {
  const features = new Set<RequestFeature>();
  const uses = (feature: RequestFeature, used: boolean) => used && features.add(feature);
  if (endpoint === "/v1/messages") {
    const { tools, tool_choice, messages, thinking, top_k } = body as MessagesRequest;
    uses("tools", offered(tools, [undefined, null, "custom"]) && tool_choice?.type !== "none");
    uses("a prefilled answer", isPrefilled(messages.at(-1)));
    uses("a reasoning budget", thinking?.type === "enabled");
    uses("top_k and min_p", (top_k ?? 0) > 0);
    return features;
  }
  const sampled = body as Sampled;
  for (const [feature, used] of SAMPLING) uses(feature, used(sampled));
  if (endpoint === "/v1/completions") {
    const { prompt, echo, logprobs } = sampled as CompletionRequest;
    uses("prompts of tokens", typeof prompt !== "string" && typeof prompt[0] !== "string");
    uses("log probabilities of the prompt", echo === true && logprobs != null);
    return features;
  }
  const { tools, tool_choice, chat_template_kwargs } = sampled as ChatRequest | ResponsesRequest;
  uses("tools", offered(tools, ["function"]) && tool_choice !== "none");
  uses(
    "chat_template_kwargs",
    Object.values(chat_template_kwargs ?? {}).some((value) => value !== null),
  );
  uses("a reasoning budget", budgetOf(sampled as ChatRequest | ResponsesRequest) >= 0);
  return features;
}

const SAMPLING: readonly (readonly [RequestFeature, (body: Sampled) => boolean])[] = [
  ["a GBNF grammar", ({ grammar }) => typeof grammar === "string"],
  ["logit_bias", ({ logit_bias }) => Object.keys(logit_bias ?? {}).length > 0],
  ["top_k and min_p", ({ top_k, min_p }) => (top_k ?? 0) > 0 || (min_p ?? 0) > 0],
  ["repetition_penalty", ({ repetition_penalty, repeat_penalty }) => (repetition_penalty ?? repeat_penalty ?? 1) !== 1],
  ["samplers of llama.cpp", usesLlamaSampler],
  ["ignore_eos", ({ ignore_eos }) => ignore_eos === true],
  [
    "min_tokens and stop_token_ids",
    ({ min_tokens, stop_token_ids }) => (min_tokens ?? 0) > 0 || (stop_token_ids ?? []).length > 0,
  ],
];

/** Those whose value turns them on by itself. */
function usesLlamaSampler(body: Sampled): boolean {
  return (
    (body.dynatemp_range ?? 0) > 0 ||
    (body.typical_p ?? 1) !== 1 ||
    (body.top_n_sigma ?? 0) > 0 ||
    (body.min_keep ?? 0) > 0 ||
    (body.mirostat ?? 0) > 0 ||
    body.repeat_last_n != null ||
    body.repeat_penalty != null ||
    ((body.xtc_probability ?? 0) > 0 && body.xtc_threshold == null) ||
    ((body.dry_multiplier ?? 0) > 0 && body.dry_penalty_last_n == null)
  );
}

function offered(tools: readonly Tool[] | null | undefined, types: readonly unknown[]): boolean {
  return (tools ?? []).some(({ type }) => types.includes(type));
}

function isPrefilled(last: MessagesRequest["messages"][number] | undefined): boolean {
  return last?.role === "assistant" && typeof last.content === "string" && last.content !== "";
}

function budgetOf(body: ChatRequest | ResponsesRequest): number {
  return body.thinking_token_budget ?? body.thinking_budget_tokens ?? body.reasoning_budget_tokens ?? -1;
}
