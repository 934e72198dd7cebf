import { request } from "undici";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { readErrorBody } from "./answer/error-body.ts";
import { isTooLong, tooLongRequest } from "./answer/failure-error.ts";
import { beginningOf, readJson } from "./attempt.ts";
import { replicaRoot } from "./dialect/replica-root.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

type ChatPrompt = Extract<Prompt, { kind: "chat" }>;

/**
 * The tokens of a text or a prompt, asked of the upstream: vLLM and llama-server count them outside of OpenAI's API. Throws the
 * ApiError of a question that the upstream cannot answer.
 */
export async function tokenizeAt(
  access: UpstreamAccess,
  model: string,
  question: TokenQuestion,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  const { dialect, config } = access;
  const ask = (path: string, body: object) => post(access, path, body, signal);
  const asks = { "llama-server": askLlama, vllm: askVllm, nightshift: askNightshift };
  if (question.pieces || question.kind === "tokens" || dialect.tokenize === null) throw notCounted(config.name);
  const tokens = await asks[dialect.tokenize](ask, model, question);
  if (tokens === null) throw notCounted(config.name);
  return { tokens: Int32Array.from(tokens), pieces: null };
}

type Ask = (path: string, body: object) => Promise<unknown>;
type Counted = Exclude<TokenQuestion, { kind: "tokens" }>;

async function askLlama(ask: Ask, _model: string, question: Counted): Promise<number[] | null> {
  if (question.kind === "text") return tokensOf(await ask("/tokenize", textBody(question)));
  const { prompt } = question;
  if (prompt.kind === "text") {
    return tokensOf(await ask("/tokenize", { content: prompt.text, add_special: true, parse_special: true }));
  }
  if (prompt.kind !== "chat") return null;
  const { prompt: content } = Object(await ask("/apply-template", chatBody(prompt)));
  // The template writes the token that begins texts.
  return tokensOf(await ask("/tokenize", { content, add_special: false, parse_special: true }));
}

async function askVllm(ask: Ask, model: string, question: Counted): Promise<number[] | null> {
  if (question.kind === "prompt") return askPrompt(ask, model, question.prompt);
  return tokensOf(await ask("/tokenize", { model, prompt: question.text, add_special_tokens: question.opening }));
}

async function askNightshift(ask: Ask, model: string, question: Counted): Promise<number[] | null> {
  if (question.kind === "prompt") return askPrompt(ask, model, question.prompt);
  return tokensOf(await ask("/tokenize", { model, ...textBody(question) }));
}

/** A server that renders chats itself. */
async function askPrompt(ask: Ask, model: string, prompt: Prompt): Promise<number[] | null> {
  if (prompt.kind === "text") return tokensOf(await ask("/tokenize", { model, prompt: prompt.text }));
  return prompt.kind === "chat" ? tokensOf(await ask("/tokenize", { model, ...chatBody(prompt) })) : null;
}

function textBody({ text, opening, special }: Extract<Counted, { kind: "text" }>): object {
  return { content: text, add_special: opening, parse_special: special };
}

function chatBody({ messages, tools, variables }: ChatPrompt): object {
  return {
    messages,
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(variables).length > 0 && { chat_template_kwargs: variables }),
  };
}

function tokensOf(answer: unknown): number[] | null {
  const { tokens }: Record<string, unknown> = Object(answer);
  if (!Array.isArray(tokens)) return null;
  const ids = tokens.map((token) => (typeof token === "number" ? token : Object(token).id));
  return ids.every((id) => Number.isInteger(id)) ? ids : null;
}

/** At the root of the replica, beside its `/v1`. */
async function post(access: UpstreamAccess, path: string, body: object, signal: AbortSignal): Promise<unknown> {
  const replica = access.replicas.find(({ healthy }) => healthy) ?? access.replicas[0]!;
  try {
    const answer = await request(`${replicaRoot(replica.url)}${path}`, {
      dispatcher: access.dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", ...access.headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (answer.statusCode === 200) return await readJson(answer.body, MOST_BYTES);
    const error = readErrorBody(await beginningOf(answer.body));
    if (answer.statusCode === 400 && isTooLong(error)) throw tooLongRequest(error);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ApiError) throw error;
  }
  throw new ApiError("upstream_failed", `The upstream '${access.config.name}' did not count these tokens.`);
}

function notCounted(upstream: string): ApiError {
  return invalidRequest(
    "upstream_refused",
    null,
    `The upstream '${upstream}' does not count tokens of such a request.`,
  );
}
