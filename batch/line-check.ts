import type { BatchEndpoint } from "../openapi/batches.ts";
import { type ChatRequest, chatRequest } from "../openapi/chat.ts";
import { type CompletionRequest, completionRequest, DEFAULT_MAX_TOKENS } from "../openapi/completions.ts";
import type { RequestLimits } from "../openapi/request-limits.ts";
import { validate } from "../openapi/validate.ts";

/** What is known of a body that its endpoint would take. */
export interface CheckedBody {
  /** Sort key: the first characters of the prompt's text. Equal beginnings bring equal prefixes together. */
  prefix: string;
  /** A guess at prompt and answer together, for forecasts. */
  estimatedTokens: number;
}

/** Throws the ApiError that the synchronous endpoint would answer with. */
export type BodyCheck = (body: unknown) => CheckedBody;

const PREFIX_CHARS = 512;
const CHARS_PER_TOKEN = 4;
/** An answer of unknown length. */
const USUAL_ANSWER = 256;
/** An answer may be allowed much, and rarely takes it. */
const MOST_ANSWER = 4096;

export function bodyCheck(endpoint: BatchEndpoint, limits: RequestLimits): BodyCheck {
  switch (endpoint) {
    case "/v1/chat/completions": {
      const schema = chatRequest(limits);
      return (body) => checkedChat(validate(schema, body));
    }
    case "/v1/completions": {
      const schema = completionRequest(limits);
      return (body) => checkedCompletion(validate(schema, body));
    }
  }
}

function checkedChat({ messages, max_completion_tokens, max_tokens, n }: ChatRequest): CheckedBody {
  const text = new PromptText();
  for (const message of messages) {
    text.add(`${message.role}\n`);
    const { content } = message;
    if (typeof content === "string") text.add(content);
    else for (const part of content ?? []) if ("text" in part) text.add(part.text);
    text.add("\n");
  }
  return text.checked(max_completion_tokens ?? max_tokens ?? USUAL_ANSWER, n ?? 1);
}

function checkedCompletion({ prompt, max_tokens, n }: CompletionRequest): CheckedBody {
  const text = new PromptText();
  const prompts = typeof prompt === "string" || typeof prompt[0] === "number" ? [prompt] : prompt;
  for (const one of prompts) {
    if (typeof one === "string") text.add(one);
    else if (Array.isArray(one)) text.addTokens(one);
  }
  return text.checked(max_tokens ?? DEFAULT_MAX_TOKENS, (n ?? 1) * prompts.length);
}

/** Measures a prompt and keeps its beginning alone. */
class PromptText {
  #prefix = "";
  #chars = 0;

  add(text: string): void {
    if (this.#prefix.length < PREFIX_CHARS) this.#prefix += text.slice(0, PREFIX_CHARS - this.#prefix.length);
    this.#chars += text.length;
  }

  addTokens(tokens: readonly unknown[]): void {
    if (this.#prefix.length < PREFIX_CHARS) this.add(tokens.slice(0, PREFIX_CHARS).join(","));
    this.#chars += tokens.length * CHARS_PER_TOKEN;
  }

  checked(answerTokens: number, choices: number): CheckedBody {
    const answer = Math.min(answerTokens, MOST_ANSWER) * choices;
    return {
      // The cut may have split a surrogate pair, and half of one is no text that a database keeps.
      prefix: this.#prefix.replace(/[\ud800-\udbff]$/, ""),
      estimatedTokens: Math.ceil(this.#chars / CHARS_PER_TOKEN) + answer,
    };
  }
}
