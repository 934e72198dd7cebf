import type OpenAI from "openai";

type ChatStreamBody = OpenAI.ChatCompletionCreateParamsStreaming;
type ChatBody = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Fields that the SDK does not know, and sends anyway. */
export interface Extensions {
  top_k?: number;
  min_p?: number;
  repetition_penalty?: number;
  ignore_eos?: boolean;
  min_tokens?: number;
  stop_token_ids?: number[];
}

export type Options = Partial<ChatBody> & Extensions;

export function user(content: string): OpenAI.ChatCompletionMessageParam {
  return { role: "user", content };
}

/** One chat completion, greedy unless the options say otherwise. A text stands for one user message. */
export async function complete(
  client: OpenAI,
  asked: string | ChatBody["messages"],
  options: Options = {},
): Promise<OpenAI.ChatCompletion> {
  const messages = typeof asked === "string" ? [user(asked)] : asked;
  const body: ChatBody & Extensions = { model: "demo", messages, temperature: 0, ...options };
  return client.chat.completions.create(body);
}

/** The text of the first choice. */
export async function ask(
  client: OpenAI,
  asked: string | ChatBody["messages"],
  options: Options = {},
): Promise<string> {
  const { choices } = await complete(client, asked, options);
  return choices[0]!.message.content!;
}

/** A stream of one chat completion, greedy unless the options say otherwise. */
export async function stream(client: OpenAI, asked: string, options: Options = {}, signal?: AbortSignal) {
  const messages = [user(asked)];
  const body: ChatStreamBody & Extensions = { model: "demo", messages, temperature: 0, ...options, stream: true };
  return client.chat.completions.create(body, { signal });
}

/** A request for a given number of tokens: work that lasts. */
export function endless(tokens: number): Options {
  return { ignore_eos: true, max_tokens: tokens };
}

/** The demo model's ids run from 0 to 1023; this one ends a turn. */
export const END_OF_TURN = 1021;
const VOCABULARY = 1024;
/** Prompts that one request may have. */
const MOST_PROMPTS = 128;

/** The demo model's tokens by their text, for logit_bias and stop_token_ids: prompts of one token, sent back. */
export async function vocabulary(client: OpenAI): Promise<Map<string, number>> {
  const texts = new Map<string, number>();
  for (let first = 0; first < VOCABULARY; first += MOST_PROMPTS) {
    const prompt = Array.from({ length: MOST_PROMPTS }, (_, i) => [first + i]);
    const body = { model: "demo", prompt, echo: true, max_tokens: 1, logit_bias: { [END_OF_TURN]: 100 } };
    const { choices } = await client.completions.create({ ...body, temperature: 0 });
    for (const { index, text } of choices) texts.set(text, first + index);
  }
  return texts;
}
