import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import type { RequestLimits } from "../request-limits.ts";
import { answerMark } from "./answer-mark.ts";
import { vendorFields } from "./dry-run.ts";
import { INT32_MAX } from "./int32.ts";
import { completionLogprobs, MOST_COMPLETION_LOGPROBS } from "./logprobs.ts";
import { oneConstraint } from "./response-format.ts";
import { crossChecks, samplingFields } from "./sampling-fields.ts";
import { tokenList } from "./token-list.ts";
import { finishReason, usage, usedTier } from "./usage.ts";

export const DEFAULT_MAX_TOKENS = 16;
const MAX_BEST_OF = 20;

/** POST /v1/completions. Fields that are not named here are ignored. */
export function completionRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  const tokens = tokenList(limits.promptTokens);
  return z
    .object({
      model: z.string(),
      prompt: z
        .union([
          text,
          boundedList(text, { min: 1, max: limits.prompts }),
          tokens,
          boundedList(tokens, { min: 1, max: limits.prompts }),
        ])
        .describe("A string, strings, token ids or lists of token ids. The choices of prompt i begin at index i × n."),
      max_tokens: z
        .int()
        .min(0)
        .max(INT32_MAX)
        .nullish()
        .describe(
          `Default ${DEFAULT_MAX_TOKENS}. With 0, nothing is generated: echo and logprobs then score the prompt.`,
        ),
      ...samplingFields(limits),
      nightshift: vendorFields.nullish(),
      echo: z.boolean().nullish().describe("Begin the text of each choice with its prompt."),
      best_of: z
        .int()
        .min(0)
        .max(MAX_BEST_OF)
        .nullish()
        .describe("Must equal n: no further choices are generated and discarded."),
      suffix: text
        .nullish()
        .describe(
          "Generate the text between the prompt and this text, with a model that has fill-in-the-middle tokens. Prompts are " +
            "texts then, and echo is refused. An empty text is the same as none.",
        ),
      logprobs: z
        .int()
        .min(0)
        .max(MOST_COMPLETION_LOGPROBS)
        .nullish()
        .describe(
          "Return the log probability of each token, and this many of the most likely tokens at its position. With echo, " +
            "also for the prompt.",
        ),
    })
    .check(crossChecks((body) => body.max_tokens ?? DEFAULT_MAX_TOKENS))
    .check(oneConstraint)
    .check(suffixChecks)
    .check((context) => {
      const { best_of, n, echo, logprobs } = context.value;
      const params = { code: "unsupported_value" };
      if (best_of != null && best_of !== (n ?? 1)) {
        const message = `only the value of 'n' (${n ?? 1}) is supported.`;
        context.issues.push({ code: "custom", input: best_of, path: ["best_of"], params, message });
      }
      if ((n ?? 1) > 1 && echo === true && logprobs != null) {
        const message =
          "only 1 is supported with echo and logprobs: every choice would repeat the log probabilities of the prompt.";
        context.issues.push({ code: "custom", input: n, path: ["n"], params, message });
      }
    });
}

interface SuffixChecked {
  prompt: string | (string | number | number[])[];
  suffix?: string | null | undefined;
  echo?: boolean | null | undefined;
}

/** A prompt of tokens cannot stand before a suffix, and an echo would repeat the suffix before the middle. */
function suffixChecks(context: z.core.ParsePayload<SuffixChecked>): void {
  const { prompt, suffix, echo } = context.value;
  if (suffix == null || suffix === "") return;
  const params = { code: "unsupported_value" };
  if (echo === true) {
    const message = "it is not supported with suffix.";
    context.issues.push({ code: "custom", input: echo, path: ["echo"], params, message });
  }
  if (typeof prompt !== "string" && prompt.some((item) => typeof item !== "string")) {
    const message = "tokens are not supported with suffix; send texts.";
    context.issues.push({ code: "custom", input: prompt, path: ["prompt"], params, message });
  }
}

export type CompletionRequest = z.infer<ReturnType<typeof completionRequest>>;

/** The whole response and each chunk of a stream have this shape. */
const completion = z.object({
  id: z.string(),
  object: z.literal("text_completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      text: z.string(),
      index: z.int(),
      logprobs: completionLogprobs,
      finish_reason: finishReason.nullable(),
      reasoning_content: z.string().optional().describe("Extension: the reasoning text of the model."),
    }),
  ),
  service_tier: usedTier.describe("Extension."),
  system_fingerprint: z.string(),
  nightshift: answerMark,
});
export const completionResponse = completion.extend({ usage });
export type CompletionResponse = z.infer<typeof completionResponse>;

export const completionChunk = completion.extend({ usage: usage.nullish() });
export type CompletionChunk = z.infer<typeof completionChunk>;
