import { z } from "zod";
import { boundedList, boundedMap } from "../bounded-schema.ts";
import { ignoredField } from "../ignored-fields.ts";
import { isFalse, refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { INT32_MAX } from "./int32.ts";
import { grammarFields } from "./response-format.ts";
import { samplerFields } from "./sampler-fields.ts";

const MAX_BIASES = 1024;
const MAX_STOP_TOKENS = 128;
const MAX_STOPS = 4;
const MAX_STOP_LENGTH = 256;

const GENERATED_ONLY = "Applies to generated tokens only, unless `repeat_penalty` or `repeat_last_n` is given.";

const tokenId = z.int().min(0).max(INT32_MAX);
const stopString = z.string().min(1).max(MAX_STOP_LENGTH);

export const tokenBudget = z.int().min(1).max(INT32_MAX);

export const seedField = z
  .number()
  .min(-(2 ** 63))
  .max(2 ** 63)
  .refine(Number.isInteger, { error: "expected an integer" })
  .meta({ type: "integer" })
  .nullish();

const streamOptions = z.object({
  include_usage: z
    .boolean()
    .nullish()
    .describe(
      "Send one more chunk before [DONE], without choices and with the usage of the request. The other chunks have `usage: null`.",
    ),
  include_obfuscation: z.boolean().nullish().describe("Accepted and ignored: chunks are not padded."),
});

/** Request fields that chat completions and completions share. null is the same as an omitted field. */
export function samplingFields(limits: RequestLimits) {
  return {
    temperature: z.number().min(0).max(2).nullish().describe("0 for greedy decoding. Default 1."),
    top_p: z.number().min(0).max(1).nullish().describe("Default 1."),
    n: z.int().min(1).max(limits.choices).nullish().describe("Number of choices per prompt. Default 1."),
    stop: z
      .union([stopString, boundedList(stopString, { max: MAX_STOPS })])
      .nullish()
      .describe("Texts that end a choice; the text of the choice ends before them."),
    stream: z.boolean().nullish(),
    stream_options: streamOptions.nullish().describe("Only with `stream: true`."),
    seed: seedField.describe(
      "Equal seeds give equal results while system_fingerprint is equal. Choice i uses seed + i.",
    ),
    frequency_penalty: z.number().min(-2).max(2).nullish().describe(GENERATED_ONLY),
    presence_penalty: z.number().min(-2).max(2).nullish().describe(GENERATED_ONLY),
    logit_bias: boundedMap(z.string().regex(/^\d{1,10}$/), z.number().min(-100).max(100), MAX_BIASES)
      .nullish()
      .describe(`A map from token ids to biases, at most ${MAX_BIASES}.`),
    service_tier: z
      .enum(["auto", "default", "flex", "priority", "fast", "scale"])
      .nullish()
      .describe(
        "`auto` and `scale` are served as `default`, `fast` as `priority`. A route may serve `auto` as `flex` where its models " +
          "refuse `default` for load. The response has the tier that was used.",
      ),
    user: ignoredField(z.string().nullish()),
    ...extensionFields,
    ...samplerFields,
    ...grammarFields,
    ...refusedExtras,
  };
}

export type SamplingBody = z.infer<z.ZodObject<ReturnType<typeof samplingFields>>>;

/** Top-level fields of vLLM and llama-server. */
const extensionFields = {
  top_k: z.int().min(-1).max(INT32_MAX).nullish().describe("Extension. 0 and -1 for off. Default: off."),
  min_p: z.number().min(0).max(1).nullish().describe("Extension. Default 0."),
  repetition_penalty: z
    .number()
    .gt(0)
    .max(2)
    .nullish()
    .describe(
      "Extension. Applies to all tokens of prompt and answer, unless `repeat_last_n` is given; 1 for off. Default 1.",
    ),
  ignore_eos: z.boolean().nullish().describe("Extension. End tokens do not end a choice."),
  min_tokens: z
    .int()
    .min(0)
    .max(INT32_MAX)
    .nullish()
    .describe("Extension. End tokens and stop strings do not end a choice before this many tokens."),
  stop_token_ids: boundedList(tokenId, { max: MAX_STOP_TOKENS })
    .nullish()
    .describe("Extension. Token ids that end a choice."),
};

const ENGINE_FIELD = "it controls the engine and is not supported.";
const STRUCTURED = "it is not supported; use response_format, json_schema or grammar.";

/** Fields of other servers that must not be ignored: they would change the result, or give clients access to the engine. */
const refusedExtras = {
  chat_template: refusedField(
    "it is not supported in requests; --chat-template sets a model's template at the server's start.",
  ),
  chat_template_kwargs: refusedField(
    "it is not supported here, where no template is rendered; use /v1/chat/completions.",
  ),
  prompt_embeds: refusedField(ENGINE_FIELD),
  cache_salt: refusedField(ENGINE_FIELD),
  lora: refusedField(ENGINE_FIELD),
  logits_processors: refusedField(ENGINE_FIELD),
  add_generation_prompt: refusedField(
    "false is not supported; the prompt always ends with the beginning of the assistant's message.",
    (v) => v === true,
  ),
  continue_final_message: refusedField("it is not supported.", isFalse),
  use_beam_search: refusedField("beam search is not supported.", isFalse),
  prompt_logprobs: refusedField("it is not supported; use /v1/completions with echo and logprobs to score a prompt."),
  structured_outputs: refusedField(STRUCTURED),
  guided_json: refusedField(STRUCTURED),
  guided_regex: refusedField(STRUCTURED),
  guided_choice: refusedField(STRUCTURED),
  guided_grammar: refusedField(STRUCTURED),
  n_predict: refusedField(
    "it is not supported; use max_tokens or max_completion_tokens.",
    (value) => typeof value === "number" && value <= 0,
  ),
};

interface CrossChecked {
  repetition_penalty?: number | null;
  repeat_penalty?: number | null;
  stream?: boolean | null;
  stream_options?: unknown;
  min_tokens?: number | null;
}

/** Rules between fields. `maxTokens` reads the token budget of the body. */
export function crossChecks<Body extends CrossChecked>(maxTokens: (body: Body) => number | null | undefined) {
  return (context: z.core.ParsePayload<Body>): void => {
    const body = context.value;
    const complain = (field: string, message: string) =>
      context.issues.push({ code: "custom", input: body, path: [field], message });
    if (body.stream_options != null && body.stream !== true) {
      complain("stream_options", "it is only allowed when 'stream' is true");
    }
    const { repetition_penalty, repeat_penalty } = body;
    if (repetition_penalty != null && repeat_penalty != null && repetition_penalty !== repeat_penalty) {
      complain("repeat_penalty", "it is another name of 'repetition_penalty', which has another value");
    }
    const budget = maxTokens(body);
    if (budget != null && body.min_tokens != null && body.min_tokens > budget) {
      complain("min_tokens", `it must not exceed the ${budget} tokens that may be generated`);
    }
  };
}
