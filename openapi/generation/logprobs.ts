import { z } from "zod";

/** Best tokens at one place that a request may ask for. */
export const MOST_CHAT_LOGPROBS = 20;
export const MOST_COMPLETION_LOGPROBS = 5;

const token = {
  token: z.string().describe("Bytes that are no whole characters are written as \\xNN."),
  logprob: z.number().describe("Of the model's own distribution, before temperature, penalties and biases."),
  bytes: z.array(z.int().min(0).max(255)),
};
const tokenLogprob = z.object({ ...token, top_logprobs: z.array(z.object(token)).describe("The best first.") });

export const chatLogprobs = z
  .object({ content: z.array(tokenLogprob), refusal: z.null() })
  .nullable()
  .describe(
    "Null unless asked for. The tokens of the content: thoughts and the token that ends an answer are not there.",
  );

export const completionLogprobs = z
  .object({
    tokens: z.array(z.string().describe("Bytes that are no whole characters: `bytes:` and \\xNN for each.")),
    token_logprobs: z.array(z.number().nullable().describe("Null for the first token of an echoed prompt.")),
    top_logprobs: z
      .array(z.record(z.string(), z.number()).nullable())
      .describe("The best tokens at each place and the one that stands there, which may make one more."),
    text_offset: z.array(z.int()).describe("Where in `text` each token begins, in Unicode characters."),
  })
  .nullable();

export type ChatLogprobs = NonNullable<z.infer<typeof chatLogprobs>>;
export type CompletionLogprobs = NonNullable<z.infer<typeof completionLogprobs>>;
