import type { ModelFacts } from "../../../engine/protocol/config.ts";
import type { Thinking } from "../../../engine/protocol/prompt.ts";
import { type ApiError, invalidRequest } from "../../../openapi/api-error.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import type { OllamaGenerateRequest } from "../../../openapi/ollama/generate.ts";
import { ollamaOptions } from "../../../openapi/ollama/options.ts";
import { objectForm, schemaForm } from "../../generation/answer-form.ts";
import { samplingOf } from "../../generation/engine-sampling.ts";
import type { AnswerForm, GenerationSettings } from "../../generation/turn.ts";

/** The fields that chats and generations share. */
type Body = Pick<OllamaGenerateRequest, "format" | "logprobs" | "model" | "options" | "think" | "top_logprobs">;

const DEFAULTS = { temperature: 0.8, top_k: 40, top_p: 0.9 };
/** The window of penalties. Most upstreams take none, so that it comes with a penalty alone. */
const PENALTY_WINDOW = 64;
/** A seed that stands for a random one. */
const RANDOM_SEED = -1;

/** The settings of a valid body, with the defaults of Ollama. */
export function ollamaSettings({ options, logprobs, top_logprobs }: Body): GenerationSettings {
  const { seed, stop, num_predict, ...sampling } = options ?? {};
  return {
    tier: "default",
    n: 1,
    maxTokens: num_predict != null && num_predict > 0 ? num_predict : null,
    minTokens: 0,
    stop: (stop ?? []).filter((text) => text !== ""),
    stopTokenIds: [],
    ignoreEos: false,
    sampling: samplingOf({ ...withDefaults(sampling), seed: seed === RANDOM_SEED ? null : seed }),
    logprobs: logprobs === true ? { top: top_logprobs ?? 0, prompt: false } : null,
  };
}

/** null is the same as an omitted option. */
function withDefaults(given: NonNullable<Body["options"]>) {
  const { repeat_penalty, presence_penalty, frequency_penalty } = given;
  const penalizes = (repeat_penalty ?? 1) !== 1 || Boolean(presence_penalty) || Boolean(frequency_penalty);
  return {
    ...DEFAULTS,
    ...(penalizes && { repeat_last_n: PENALTY_WINDOW }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)),
  };
}

/** The options that have no effect, as paths into the body. */
export function ignoredOptions(json: unknown): string[] {
  const { options }: { options?: unknown } = Object(json);
  return ignoredNames(Object(options ?? {}), ollamaOptions).map((name) => `options.${name}`);
}

export function ollamaForm({ format }: Body): AnswerForm | null {
  if (format == null || format === "") return null;
  return format === "json" ? objectForm() : schemaForm(format);
}

/** A switch alone leaves the amount to the template's default, or a middle one where the reasoning would be off. */
export function ollamaThinking({ think }: Body): Thinking {
  const effort = typeof think === "string" ? think : think == null ? null : think ? "medium" : "none";
  return { effort, budget: null };
}

type Facts = Pick<ModelFacts, "generates" | "reasoningTags" | "takesTools" | "toolFormat">;

/**
 * Throws 400 for a body that asks for what its model cannot do, in Ollama's words: clients leave out what they name.
 *
 * @param task of the endpoint
 */
export function checkCapabilities(
  { model, think, tools }: Body & { tools?: readonly unknown[] | null },
  facts: Facts,
  task: "chat" | "generate",
): void {
  if (!facts.generates) throw lacks(model, "model", task);
  if (think != null && think !== false && !thinks(facts)) throw lacks(model, "think", "thinking");
  if (tools != null && tools.length > 0 && !facts.takesTools) throw lacks(model, "tools", "tools");
}

function lacks(model: string, param: string, capability: string): ApiError {
  return invalidRequest("unsupported_model", param, `"${model}" does not support ${capability}`);
}

/** Formats of tool calls with marks of their own for reasoning, whose models have no tags. */
const REASONING_FORMATS: readonly string[] = ["harmony", "muse"];

/** True for a model with reasoning. */
export function thinks({ reasoningTags, toolFormat }: Pick<ModelFacts, "reasoningTags" | "toolFormat">): boolean {
  return reasoningTags !== null || REASONING_FORMATS.includes(toolFormat);
}
