import { CHARS_PER_TOKEN } from "../../engine/protocol/prompt.ts";
import { upstreamRefusal } from "../../engine/protocol/upstream-refusal.ts";
import { type MessagesRequest, messagesRequest } from "../../openapi/anthropic/messages.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { type ChatRequest, chatRequest } from "../../openapi/generation/chat.ts";
import { type CompletionRequest, completionRequest, DEFAULT_MAX_TOKENS } from "../../openapi/generation/completions.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { narrowed } from "../../openapi/narrowed-schema.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import { type EmbeddingsRequest, embeddingsRequest } from "../../openapi/resources/embeddings.ts";
import { type ResponsesRequest, responsesRequest } from "../../openapi/responses/request.ts";
import { checkBatchLine } from "../../openapi/responses/stateless.ts";
import { USUAL_ANSWER } from "../lines/answer-length.ts";
import { bodyFeatures } from "./body-features.ts";
import { checkBounds, checkEmbeddingBounds, checkPromptBounds, type ModelBounds } from "./model-bounds.ts";
import { PrefixKey } from "./prefix-key.ts";

/** Result of the check of a valid body. */
export interface CheckedBody {
  /** The PrefixKey of the prompt: sorting by it brings prompts with a common prefix together. */
  prefix: readonly number[];
  /** Estimated tokens of prompt and answer together, for forecasts. */
  estimatedTokens: number;
  /** The part of the estimate that is the prompt. */
  promptTokens: number;
  /** Requested answers; 0 for inputs of embeddings. */
  choices: number;
  /** Bound on the tokens of each answer; null where the body has none. */
  maxTokens: number | null;
  /** Inputs of embeddings. */
  inputs: number;
}

/** Throws the ApiError that the synchronous endpoint would answer with. */
export type BodyCheck = (body: unknown) => CheckedBody;

/** Tokens at most that are estimated for an answer: bounds in bodies are often far above the length of answers. */
const MOST_ANSWER = 4096;

/** @param boundsOf the bounds of the model that a body means by this name; undefined while they are not known */
export function bodyCheck(
  endpoint: BatchEndpoint,
  limits: RequestLimits,
  boundsOf: (name: string) => ModelBounds | undefined,
): BodyCheck {
  const withinBounds = <Body extends ChatRequest | CompletionRequest | MessagesRequest | ResponsesRequest>(
    body: Body,
  ): Body => {
    if (body.nightshift?.dry_run) {
      throw invalidRequest("unsupported_value", "nightshift.dry_run", "A batch line can't be a dry run.");
    }
    const known = boundsOf(body.model);
    if (known === undefined) return body;
    checkBounds(body, known);
    const refusal = known.upstream === null ? null : upstreamRefusal(known.upstream, bodyFeatures(endpoint, body));
    if (refusal !== null) throw refusal;
    return body;
  };
  switch (endpoint) {
    case "/v1/chat/completions": {
      const schemaFor = narrowed(chatRequest(limits));
      return (body) => checkedChat(withinBounds(validate(schemaFor(body), body)));
    }
    case "/v1/completions": {
      const schemaFor = narrowed(completionRequest(limits));
      return (body) => {
        const checked = withinBounds(validate(schemaFor(body), body));
        const known = boundsOf(checked.model);
        if (known !== undefined) checkPromptBounds(checked, known);
        return checkedCompletion(checked);
      };
    }
    case "/v1/responses": {
      const schemaFor = narrowed(responsesRequest(limits));
      return (body) => {
        const checked = withinBounds(validate(schemaFor(body), body));
        checkBatchLine(checked);
        return checkedResponse(checked);
      };
    }
    case "/v1/messages": {
      const schemaFor = narrowed(messagesRequest(limits));
      return (body) => uncheckedParams(body) ?? checkedMessages(withinBounds(validate(schemaFor(body), body)));
    }
    case "/v1/embeddings": {
      const schema = embeddingsRequest(limits);
      return (body) => {
        const checked = validate(schema, body);
        const known = boundsOf(checked.model);
        if (known !== undefined) checkEmbeddingBounds(checked, known);
        return checkedInput(checked);
      };
    }
  }
}

function checkedChat({ messages, tools, max_completion_tokens, max_tokens, n }: ChatRequest): CheckedBody {
  const text = new PromptText();
  // Chat templates put tools before the conversation.
  if (tools?.length) text.add(JSON.stringify(tools));
  for (const message of messages) {
    text.add(`${message.role}\n`);
    const { content } = message;
    if (typeof content === "string") text.add(content);
    else for (const part of content ?? []) if ("text" in part) text.add(part.text);
    text.add("\n");
  }
  return text.checked(max_completion_tokens ?? max_tokens ?? null, n ?? 1);
}

function checkedMessages({ tools, system, messages, max_tokens }: MessagesRequest): CheckedBody {
  const text = new PromptText();
  for (const part of [tools ?? [], system ?? "", ...messages]) text.add(JSON.stringify(part));
  return text.checked(max_tokens, 1);
}

/** The estimate for a line of a message batch, whose params are checked when it runs; null for other lines. */
function uncheckedParams(body: unknown): CheckedBody | null {
  const { params }: { params?: Partial<Record<string, unknown>> } = Object(body);
  if (params === undefined) return null;
  const { tools, system, messages, max_tokens } = Object(params) as Partial<Record<string, unknown>>;
  const text = new PromptText();
  text.add(JSON.stringify([tools ?? [], system ?? "", messages ?? []]));
  return text.checked(typeof max_tokens === "number" && max_tokens >= 0 ? Math.floor(max_tokens) : null, 1);
}

function checkedResponse({ input, instructions, tools, max_output_tokens }: ResponsesRequest): CheckedBody {
  const text = new PromptText();
  if (tools?.length) text.add(JSON.stringify(tools));
  if (instructions != null) text.add(`${instructions}\n`);
  // The estimate counts the names of fields too, which are about as long as a template's marks.
  for (const item of typeof input === "string" ? [input] : (input ?? [])) {
    text.add(`${typeof item === "string" ? item : JSON.stringify(item)}\n`);
  }
  return text.checked(max_output_tokens ?? null, 1);
}

function checkedCompletion({ prompt, suffix, max_tokens, n }: CompletionRequest): CheckedBody {
  const text = new PromptText();
  const prompts = text.addAll(prompt);
  for (let i = 0; i < prompts; i++) text.add(suffix ?? "");
  return text.checked(max_tokens ?? DEFAULT_MAX_TOKENS, (n ?? 1) * prompts);
}

function checkedInput({ input }: EmbeddingsRequest): CheckedBody {
  const text = new PromptText();
  const inputs = text.addAll(input);
  return { ...text.checked(0, 0), inputs };
}

/** Measures the length and the prefix key of a prompt without keeping its text. */
class PromptText {
  readonly #key = new PrefixKey();
  #chars = 0;

  add(text: string): void {
    this.#key.add(text);
    this.#chars += text.length;
  }

  addTokens(tokens: readonly unknown[]): void {
    if (this.#key.missing > 0) this.#key.add(tokens.slice(0, this.#key.missing).join(","));
    this.#chars += tokens.length * CHARS_PER_TOKEN;
  }

  /** @returns the number of texts */
  addAll(given: CompletionRequest["prompt"]): number {
    const texts = typeof given === "string" || typeof given[0] === "number" ? [given] : given;
    for (const one of texts) {
      if (typeof one === "string") this.add(one);
      else if (Array.isArray(one)) this.addTokens(one);
    }
    return texts.length;
  }

  checked(maxTokens: number | null, choices: number): CheckedBody {
    const answer = Math.min(maxTokens ?? USUAL_ANSWER, MOST_ANSWER) * choices;
    const promptTokens = Math.ceil(this.#chars / CHARS_PER_TOKEN);
    const estimatedTokens = promptTokens + answer;
    return { prefix: this.#key.key, estimatedTokens, promptTokens, choices, maxTokens, inputs: 0 };
  }
}
