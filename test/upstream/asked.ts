/** The fields that a fake upstream reads of a request's body; the rest of the body is recorded and ignored. */
export interface Asked {
  model: string;
  chat: boolean;
  stream: boolean;
  includeUsage: boolean;
  /** One text per prompt; the last user message of a chat. */
  prompts: string[];
  /** Words of everything that is read. */
  promptTokens: number;
  maxTokens: number;
  n: number;
  stop: string[];
  /** Alternatives per token; null where no log probabilities are asked for. */
  logprobs: number | null;
  /** Names of the offered tools that the answer calls. */
  calls: string[];
  tools: boolean;
  json: boolean;
  reasons: boolean;
  priority: number;
}

type Fields = Record<string, unknown>;

const MAX_TOKENS = 4096;

/** Reads a body of `/v1/chat/completions` or `/v1/completions`. Wrong types count as absent: a fake is no validator. */
export function readAsked(path: string, body: unknown): Asked {
  const fields = fieldsOf(body);
  const chat = path.endsWith("/chat/completions");
  const messages = listOf(fields.messages).map(fieldsOf);
  const lastText = contentOf(messages.findLast(({ role }) => role === "user"));
  const prompts = chat ? [lastText] : promptsOf(fields.prompt);
  const tools = listOf(fields.tools).map((tool) => String(fieldsOf(fieldsOf(tool).function).name));
  return {
    model: String(fields.model ?? ""),
    chat,
    stream: fields.stream === true,
    includeUsage: fieldsOf(fields.stream_options).include_usage === true,
    prompts,
    promptTokens: (chat ? messages.map(contentOf) : prompts).reduce((sum, text) => sum + wordsOf(text).length, 0),
    maxTokens: numberOf(fields.max_completion_tokens) ?? numberOf(fields.max_tokens) ?? MAX_TOKENS,
    n: numberOf(fields.n) ?? 1,
    stop: typeof fields.stop === "string" ? [fields.stop] : listOf(fields.stop).map(String),
    logprobs: chat
      ? fields.logprobs === true
        ? (numberOf(fields.top_logprobs) ?? 0)
        : null
      : numberOf(fields.logprobs),
    calls: callsOf(fields.tool_choice, tools, wordsOf(lastText)),
    tools: tools.length > 0,
    json: /^json_/.test(String(fieldsOf(fields.response_format).type)),
    reasons: wordsOf(lastText)[0] === "think",
    priority: numberOf(fields.priority) ?? 0,
  };
}

/** The pieces that the fake takes for tokens: words, each with the space before it. They add up to the text. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** A message `call a b` calls those of the offered tools; a choice of one calls that one. */
function callsOf(choice: unknown, tools: readonly string[], words: readonly string[]): string[] {
  const forced = fieldsOf(fieldsOf(choice).function).name;
  if (choice === "none" || tools.length === 0) return [];
  if (typeof forced === "string") return [forced];
  if (words[0] === "call")
    return words
      .slice(1)
      .map((word) => word.trim())
      .filter((word) => tools.includes(word));
  return choice === "required" ? [tools[0]!] : [];
}

function promptsOf(prompt: unknown): string[] {
  if (!Array.isArray(prompt)) return [String(prompt ?? "")];
  if (prompt.every((one) => typeof one === "number")) return [prompt.map((token) => `t${token}`).join(" ")];
  return prompt.flatMap(promptsOf);
}

function contentOf(message: Fields | undefined): string {
  const content = message?.content;
  return typeof content === "string"
    ? content
    : listOf(content)
        .map((part) => String(fieldsOf(part).text ?? ""))
        .join("");
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
