import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { answerMark } from "../generation/answer-mark.ts";
import { MOST_CHAT_LOGPROBS } from "../generation/logprobs.ts";
import { enforceableSchema } from "../generation/response-format.ts";
import { ignoredField } from "../ignored-fields.ts";
import { isEmptyList, isFalse, refusedField } from "../refused-fields.ts";
import { ollamaOptions } from "./options.ts";

const MOST_KEEP_ALIVE_CHARACTERS = 64;
/** Of the token ids of an earlier answer. */
const MOST_CONTEXT_TOKENS = 1_048_576;

export const modelName = z.string().min(1).max(256).describe("With or without a tag: `demo` is `demo:latest`.");

/** A number of seconds, or a duration of Go. */
export const keepAlive = z
  .union([z.number(), z.string().max(MOST_KEEP_ALIVE_CHARACTERS)])
  .nullish()
  .describe(
    "Only 0 has an effect, and only without a prompt: an idle model leaves the memory, unless --keep-alive is forever.",
  );

export const images = refusedField("images are not supported.", isEmptyList);

/** Fields that chats and generations share. null is the same as an omitted field. */
export const generationFields = {
  model: modelName,
  stream: z.boolean().nullish().describe("Default true."),
  format: z
    .union([z.literal(["json", ""]), enforceableSchema])
    .nullish()
    .describe("`json` for any JSON object, or a JSON schema that is enforced at every token."),
  options: ollamaOptions.nullish(),
  think: z
    .union([z.boolean(), z.enum(["low", "medium", "high", "max"])])
    .nullish()
    .describe(
      "Reasoning, or its amount. Default: as the chat template has it. A model without reasoning refuses true.",
    ),
  keep_alive: keepAlive,
  shift: ignoredField(
    z.boolean().nullish(),
    "Accepted and ignored: an answer ends where the context is full, with `done_reason` `length`.",
  ),
  logprobs: z.boolean().nullish().describe("Return the log probability of each token of the answer."),
  top_logprobs: z
    .int()
    .min(0)
    .max(MOST_CHAT_LOGPROBS)
    .nullish()
    .describe("Also return this many of the most likely tokens at each position. Only with `logprobs: true`."),
  _debug_render_only: refusedField("prompts are not shown.", isFalse),
};

export const contextTokens = ignoredField(
  boundedList(z.int(), { max: MOST_CONTEXT_TOKENS }).nullish(),
  "Accepted and ignored.",
);

const token = { token: z.string(), logprob: z.number(), bytes: z.array(z.int().min(0).max(255)) };

const duration = z.int().min(0).optional().describe("Nanoseconds.");

/** Fields of every line of an answer, and of a whole one. */
export const answerFields = {
  model: z.string().describe("The name in the request."),
  created_at: z.string().describe("The time of the line, by RFC 3339."),
  done: z.boolean().describe("True on the last line."),
  logprobs: z.array(z.object({ ...token, top_logprobs: z.array(z.object(token)) })).optional(),
  done_reason: z.enum(["stop", "length", "load", "unload"]).optional().describe("On the last line."),
  total_duration: duration,
  load_duration: duration.describe("Nanoseconds until the first step: the load of the model, and the queue."),
  prompt_eval_count: z.int().min(0).optional().describe("Tokens of the prompt, cached ones included."),
  prompt_eval_duration: duration,
  eval_count: z.int().min(0).optional().describe("Tokens of the answer."),
  eval_duration: duration,
  nightshift: answerMark,
};
