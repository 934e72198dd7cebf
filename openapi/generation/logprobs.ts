import { z } from "zod";

/** Most alternatives per position that a request may ask for. */
export const MOST_CHAT_LOGPROBS = 20;
export const MOST_COMPLETION_LOGPROBS = 5;

const token = {
  token: z.string().describe("Text of the token. Bytes that are not whole characters are written as \\xNN."),
  logprob: z.number().describe("From the distribution of the model before temperature, penalties and biases."),
  bytes: z.array(z.int().min(0).max(255)),
};
const tokenLogprob = z.object({ ...token, top_logprobs: z.array(z.object(token)).describe("Most likely first.") });

export const chatLogprobs = z
  .object({ content: z.array(tokenLogprob), refusal: z.null() })
  .nullable()
  .describe("Null unless requested. Has the tokens of the content, without those of the reasoning and the end token.");

export const completionLogprobs = z
  .object({
    tokens: z.array(
      z.string().describe("Text of the token. Bytes that are not whole characters: `bytes:` and \\xNN for each."),
    ),
    token_logprobs: z.array(z.number().nullable().describe("Null for the first token of an echoed prompt.")),
    top_logprobs: z
      .array(z.record(z.string(), z.number()).nullable())
      .describe(
        "The most likely tokens at each position and the generated one, so there may be one more than requested.",
      ),
    text_offset: z.array(z.int()).describe("Offset of each token in `text`, in Unicode characters."),
  })
  .nullable();

export type ChatLogprobs = NonNullable<z.infer<typeof chatLogprobs>>;
export type CompletionLogprobs = NonNullable<z.infer<typeof completionLogprobs>>;
