import type { Submission } from "../../engine.ts";
import type { RequestFeature } from "../../protocol/config.ts";
import type { ChatMessage, Prompt } from "../../protocol/prompt.ts";
import type { Sampling } from "../../protocol/sampling.ts";
import type { ToolChoice } from "../../protocol/tool-choice.ts";
import type { UpstreamDialect } from "./kinds.ts";

/** A request to an upstream, without what depends on the replica. */
export interface UpstreamRequest {
  /** Below the base URL. */
  path: "/chat/completions" | "/completions";
  body: Record<string, unknown>;
}

type ChatPrompt = Extract<Prompt, { kind: "chat" }>;

/**
 * A submission as a body of OpenAI's API. It is built from the parts of the submission alone: no field or header of the client
 * passes through, so that none can set a priority, a cache salt or a route there.
 *
 * @param model the model's id at the upstream
 * @param completionTokens true for a model that takes the bound on its answer only as `max_completion_tokens`
 * @param salt separates what the upstream caches; null for none
 */
export function upstreamRequest(
  submission: Submission,
  model: string,
  dialect: UpstreamDialect,
  { completionTokens = false, salt = null }: { completionTokens?: boolean; salt?: string | null } = {},
): UpstreamRequest {
  const { prompt, n, maxTokens, stop, logprobs } = submission;
  const chat = prompt.kind === "chat";
  const body = {
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...(chat ? chatFields(prompt, submission.toolChoice, dialect) : { prompt: plainPrompt(prompt) }),
    ...(n > 1 && { n }),
    ...(maxTokens !== null && { [chat && completionTokens ? "max_completion_tokens" : "max_tokens"]: maxTokens }),
    ...(salt !== null && { cache_salt: salt }),
    ...(stop.length > 0 && { stop }),
    ...(logprobs !== null && (chat ? { logprobs: true, top_logprobs: logprobs.top } : { logprobs: logprobs.top })),
    ...formFields(submission),
    ...samplingFields(submission, dialect),
  };
  return { path: chat ? "/chat/completions" : "/completions", body };
}

function plainPrompt(prompt: Exclude<Prompt, ChatPrompt>): string | number[] {
  if (prompt.kind === "tokens") return prompt.tokens;
  // The facts of an upstream say that it cannot infill.
  return prompt.kind === "text" ? prompt.text : prompt.prefix;
}

function chatFields(
  { messages, tools, variables, thinking, answerStart }: ChatPrompt,
  toolChoice: ToolChoice | undefined,
  dialect: UpstreamDialect,
): Record<string, unknown> {
  const { effort, budget } = thinking;
  const switches = {
    ...variables,
    ...(effort === "none" && dialect.samplers !== "none" && { enable_thinking: false }),
  };
  const prefilled = answerStart !== undefined;
  return {
    messages: [...messages.map((message) => asMessage(message, dialect)), ...(prefilled ? [startOf(answerStart)] : [])],
    ...(prefilled && dialect.samplers === "vllm" && { add_generation_prompt: false, continue_final_message: true }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice !== undefined && choiceFields(toolChoice, dialect)),
    ...(effort !== null && { reasoning_effort: effort }),
    ...(Object.keys(switches).length > 0 && { chat_template_kwargs: switches }),
    ...(budget !== null && Number.isFinite(budget) && { thinking_budget_tokens: budget }),
  };
}

function startOf(answerStart: string): ChatMessage {
  return { role: "assistant", content: answerStart };
}

/** Templates of open models do not know the role `developer`. */
function asMessage(message: ChatMessage, { developer }: UpstreamDialect): ChatMessage {
  return message.role === "developer" && !developer ? { ...message, role: "system" } : message;
}

function choiceFields(choice: ToolChoice, dialect: UpstreamDialect): Record<string, unknown> {
  return { ...choiceOf(choice, dialect), ...(!choice.parallel && { parallel_tool_calls: false }) };
}

function choiceOf(
  { callable, required, restricted }: ToolChoice,
  { allowedTools }: UpstreamDialect,
): Record<string, unknown> {
  const tools = callable.map((tool) => ({ type: "function", function: { name: tool.function.name } }));
  const mode = required ? "required" : "auto";
  if (!restricted) return required ? { tool_choice: mode } : {};
  if (required && tools.length === 1) return { tool_choice: tools[0] };
  if (allowedTools) return { tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } } };
  // Most engines know no choice among several tools: those that may not be called are left out.
  return { ...(required && { tool_choice: mode }), tools: callable };
}

/** The form of the answer: by its schema where there is one, else by the client's grammar. */
function formFields({ grammar, toolChoice }: Submission): Record<string, unknown> {
  const schema = grammar?.schema ?? toolChoice?.answer ?? null;
  if (schema === null) return grammar === null ? {} : { grammar: grammar.gbnf };
  if (isAnyObject(schema)) return { response_format: { type: "json_object" } };
  const strict = grammar?.strict ?? toolChoice?.strict;
  const json_schema = { name: "answer", schema, ...(strict !== undefined && { strict }) };
  return { response_format: { type: "json_schema", json_schema } };
}

function isAnyObject(schema: unknown): boolean {
  const keys = Object.keys(Object(schema));
  return keys.length === 1 && Object(schema).type === "object";
}

/** Fields that differ from their defaults: an upstream may refuse one that it does not know. */
function samplingFields(
  { sampling, minTokens, stopTokenIds, ignoreEos }: Submission,
  { samplers }: UpstreamDialect,
): Record<string, unknown> {
  const { temperature, topP, topK, minP, frequencyPenalty, presencePenalty, repetitionPenalty, seed } = sampling;
  return {
    temperature,
    ...(topP !== 1 && { top_p: topP }),
    ...(topK !== 0 && { top_k: topK }),
    ...(minP !== 0 && { min_p: minP }),
    ...(frequencyPenalty !== 0 && { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty !== 0 && { presence_penalty: presencePenalty }),
    ...(repetitionPenalty !== 1 && {
      [samplers === "llama.cpp" ? "repeat_penalty" : "repetition_penalty"]: repetitionPenalty,
    }),
    ...(sampling.logitBias.length > 0 && { logit_bias: Object.fromEntries(sampling.logitBias) }),
    ...(seed !== null && { seed }),
    ...(minTokens > 0 && { min_tokens: minTokens }),
    ...(stopTokenIds.length > 0 && { stop_token_ids: stopTokenIds }),
    ...(ignoreEos && { ignore_eos: true }),
    ...(samplers === "llama.cpp" && llamaSamplers(sampling)),
  };
}

function llamaSamplers(sampling: Sampling): Record<string, unknown> {
  const { dynamicTemperature, typicalP, topNSigma, minKeep, xtc, mirostat, penaltyWindow, dry } = sampling;
  return {
    ...(dynamicTemperature !== null && {
      dynatemp_range: dynamicTemperature.range,
      dynatemp_exponent: dynamicTemperature.exponent,
    }),
    ...(typicalP !== 1 && { typical_p: typicalP }),
    ...(topNSigma !== 0 && { top_n_sigma: topNSigma }),
    ...(minKeep !== 0 && { min_keep: minKeep }),
    ...(xtc !== null && { xtc_probability: xtc.probability, xtc_threshold: xtc.threshold }),
    ...(mirostat !== null && { mirostat: mirostat.version, mirostat_tau: mirostat.tau, mirostat_eta: mirostat.eta }),
    ...(penaltyWindow !== null && { repeat_last_n: penaltyWindow }),
    ...(dry !== null && {
      dry_multiplier: dry.multiplier,
      dry_base: dry.base,
      dry_allowed_length: dry.allowedLength,
      dry_penalty_last_n: dry.window,
      dry_sequence_breakers: dry.breakers,
    }),
  };
}

/** The parts of requests that a submission uses, of those that some upstreams do not take. */
export function featuresOf({ prompt, logprobs, grammar, sampling, ...rest }: Submission): Set<RequestFeature> {
  const features = new Set<RequestFeature>();
  const uses = (feature: RequestFeature, used: boolean) => used && features.add(feature);
  uses("prompts of tokens", prompt.kind === "tokens");
  uses("log probabilities of the prompt", logprobs?.prompt === true || (rest.echo && prompt.kind === "tokens"));
  uses("a GBNF grammar", grammar !== null && grammar.schema == null);
  uses("logit_bias", sampling.logitBias.length > 0);
  uses("top_k and min_p", sampling.topK !== 0 || sampling.minP !== 0);
  uses("repetition_penalty", sampling.repetitionPenalty !== 1);
  uses("samplers of llama.cpp", Object.keys(llamaSamplers(sampling)).length > 0);
  uses("ignore_eos", rest.ignoreEos);
  uses("min_tokens and stop_token_ids", rest.minTokens > 0 || rest.stopTokenIds.length > 0);
  if (prompt.kind !== "chat") return features;
  uses("tools", prompt.tools.length > 0);
  uses("a prefilled answer", prompt.answerStart !== undefined);
  uses("chat_template_kwargs", Object.keys(prompt.variables).length > 0);
  uses("a reasoning budget", prompt.thinking.budget !== null && Number.isFinite(prompt.thinking.budget));
  return features;
}
