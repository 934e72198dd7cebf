import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { tokenList } from "../generation/token-list.ts";
import type { RequestLimits } from "../request-limits.ts";

const model = z.string().nullish().describe("Optional on a server with one model.");

/** POST /v1/tokenize, with the fields of vLLM and llama-server. A body with messages is otherwise that of a chat completion. */
export function tokenizeRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  return z
    .object({
      model,
      prompt: text.nullish().describe("A text, tokenized as by /v1/completions."),
      content: text
        .nullish()
        .describe(
          "A text, tokenized as by llama-server: texts of control tokens become control tokens, and none is added.",
        ),
      messages: boundedList(z.unknown(), { max: limits.messages })
        .nullish()
        .describe(
          "A conversation, rendered and tokenized as by /v1/chat/completions, whose other fields may be given too.",
        ),
      add_special_tokens: z
        .boolean()
        .nullish()
        .describe("Add the token that begins a text. Default true for `prompt`, false for `content`."),
      add_special: z.boolean().nullish().describe("Another name of add_special_tokens."),
      parse_special: z
        .boolean()
        .nullish()
        .describe(
          "Turn the texts of control tokens into control tokens. Default false for `prompt`, true for `content`.",
        ),
      return_token_strs: z.boolean().nullish().describe("Return the text of each token in `token_strs`."),
      with_pieces: z.boolean().nullish().describe("Return tokens as objects of `id` and `piece`."),
    })
    .check((context) => {
      const { prompt, content, messages } = context.value;
      const given = [prompt, content, messages].filter((one) => one != null).length;
      if (given === 1) return;
      const rule = "exactly one of 'prompt', 'content' and 'messages' must be given";
      const missing = { code: "missing_required_parameter", message: `Missing required parameter: ${rule}.` };
      const { message, ...params } = given === 0 ? missing : { message: rule };
      context.issues.push({ code: "custom", input: context.value, path: ["prompt"], params, message });
    });
}
export type TokenizeRequest = z.infer<ReturnType<typeof tokenizeRequest>>;

const piece = z
  .union([z.string(), z.array(z.int())])
  .describe("The text of a token, or its bytes where they are not valid UTF-8.");

export const tokenizeResponse = z.object({
  tokens: z.union([z.array(z.int()), z.array(z.object({ id: z.int(), piece }))]),
  count: z.int(),
  max_model_len: z.int().describe("The model's context in tokens."),
  token_strs: z.array(z.string()).optional(),
});

export function detokenizeRequest(limits: RequestLimits) {
  return z.object({ model, tokens: tokenList(limits.promptTokens, 0) });
}

export const detokenizeResponse = z.object({
  prompt: z.string().describe("The text, with the texts of control tokens."),
  content: z.string().describe("The same as `prompt`, for clients of llama-server."),
});
export type DetokenizeResponse = z.infer<typeof detokenizeResponse>;
