/** The engines that a fake upstream may be; `hosted` is an API of a provider, as OpenAI's. */
export const UPSTREAM_KINDS = ["vllm", "sglang", "llama-server", "tgi", "trtllm", "hosted", "nightshift"] as const;
export type UpstreamKind = (typeof UPSTREAM_KINDS)[number];

/** The figures of its metrics. */
export interface FakeLoad {
  running: number;
  waiting: number;
  kvUsed: number;
  generatedTokens: number;
}

export interface ModelFacts {
  id: string;
  /** Tokens of prompt and answer. */
  context: number;
}

interface Refusal {
  status: number;
  body: unknown;
}

/** The engine's form of everything that differs between engines. */
export interface Dialect {
  /** Path that answers 200 while it is alive. */
  health: string | null;
  model(facts: ModelFacts): Record<string, unknown>;
  /** Documents beside, by path. */
  info(facts: ModelFacts, slots: number): Record<string, unknown>;
  metrics: { path: string; text(model: string, load: FakeLoad): string } | null;
  /** The delta's field for reasoning; null where it stays in the content. */
  reasoning: "reasoning" | "reasoning_content" | null;
  /** Fields of every delta beside its own. */
  delta: Record<string, unknown>;
  /** Fields of every chunk. */
  chunk: Record<string, unknown>;
  /** Fields of the chunk with the reason of the end. */
  lastChunk(promptTokens: number, completionTokens: number): Record<string, unknown>;
  /** Usage of chunks without: a null, where it was asked for. */
  nullUsage: boolean;
  usageDetails(cached: number | null, reasoning: number): Record<string, unknown>;
  /** True where a stream has a usage object for each choice, with the completion tokens of that one. */
  usageByChoice: boolean;
  /** True where any name is taken for the one model. */
  anyModel: boolean;
  /** Fields of a body that are refused as unknown. */
  unknownFields: readonly string[];
  error(status: number, message: string, code: string | null): unknown;
  overloaded: Refusal & { inStream: boolean };
  tooLong(tokens: number, context: number): string;
  tokenize: { path: string; answer(tokens: number[], words: string[], context: number): unknown } | null;
  rerank: string | null;
}

export const openaiError = (status: number, message: string, code: string | null) => {
  const type = status === 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: null, code } };
};
/** With the status as the code. */
export const vllmError = (status: number, message: string) => {
  const type = { 400: "BadRequestError", 404: "NotFoundError", 503: "ServiceUnavailableError" }[status];
  return {
    error: { message, type: type ?? "InternalServerError", param: status === 404 ? "model" : null, code: status },
  };
};
/** Not within `error`. */
export const sglangError = (status: number, message: string) => {
  return {
    object: "error",
    message,
    type: status < 500 ? "BadRequest" : "InternalServerError",
    param: null,
    code: status,
  };
};

/** An entry of the list of models. */
export const model = (owner: string, more: (facts: ModelFacts) => Record<string, unknown>): Dialect["model"] => {
  return (facts) => ({ id: facts.id, object: "model", created: 1_795_000_000, owned_by: owner, ...more(facts) });
};

/** Names and values; `labels` is what stands in braces. */
export const series = (values: Record<string, number>, labels = "") => {
  const lines = Object.entries(values).map(([name, value]) => {
    return `# HELP ${name} A number.\n# TYPE ${name} gauge\n${name}${labels} ${value.toFixed(1)}`;
  });
  return `${lines.join("\n")}\n`;
};

const details = (cached: number | null) => ({
  prompt_tokens_details: cached === null ? null : { cached_tokens: cached },
});
/** Of most engines. */
const tooLong = (tokens: number, context: number) =>
  `This model's maximum context length is ${context} tokens. However, you requested ${tokens} tokens in the messages.`;
/** An answer of the tokenizer. */
export const counted = (tokens: number[], _: string[], context: number) => ({
  count: tokens.length,
  max_model_len: context,
  tokens,
});

/** The usual behaviour. */
export const BASE: Omit<Dialect, "model"> = {
  health: "/health",
  info: () => ({}),
  metrics: null,
  reasoning: "reasoning_content",
  delta: {},
  usageByChoice: false,
  chunk: {},
  lastChunk: () => ({}),
  nullUsage: false,
  usageDetails: details,
  anyModel: true,
  unknownFields: [],
  error: openaiError,
  overloaded: { status: 503, body: openaiError(503, "The server is overloaded.", null), inStream: false },
  tooLong,
  tokenize: null,
  rerank: null,
};
