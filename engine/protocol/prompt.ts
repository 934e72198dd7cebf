export interface ChatMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
  /** Content parts are flattened to text by the server. */
  content: string | null;
  name?: string;
  reasoning_content?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
}

/** OpenAI's values, least first. */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** Settings of a request for the reasoning before its answer. */
export interface Thinking {
  effort: ReasoningEffort | null;
  /** Most tokens of the reasoning, after which it is closed; Infinity is without bound, null the engine's default. */
  budget: number | null;
}

/** A function that the model may call, in the client's description. */
export interface FunctionTool {
  type: "function";
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

export type Prompt =
  | {
      kind: "chat";
      messages: ChatMessage[];
      /** Values for the template's own switches. */
      variables: Record<string, unknown>;
      thinking: Thinking;
      /** Empty: the template renders no tools, and no call is looked for in the answer. */
      tools: FunctionTool[];
      /** Beginning of the answer, which the model continues and does not repeat. Absent where the model writes all of it. */
      answerStart?: string;
    }
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] }
  | InfillPrompt;

/** The text between a prefix and a suffix is asked for: fill-in-the-middle. */
export interface InfillPrompt {
  kind: "infill";
  prefix: string;
  suffix: string;
  /** The beginning of the middle, which the answer continues; empty for none. */
  middle: string;
  /** Null: the text stands alone. */
  repository: InfillRepository | null;
}

/** Other files that a text is read with. */
export interface InfillRepository {
  files: { name: string; text: string }[];
  /** Tokens of the context that the files leave to the answer, at least; null for a quarter of the context. */
  answerTokens: number | null;
}

/** The message for a prompt with a suffix to a model without the tokens for it. */
export const NO_INFILL =
  "This model has no fill-in-the-middle tokens, and cannot write the text between a prefix and a suffix.";

/** Characters per token of an estimate, before the engine has counted; typical of English text. */
export const CHARS_PER_TOKEN = 4;

/** The message for a prompt that fills the context alone; `size` is its size. Both processes refuse some of these. */
export function tooLongText(context: number, size: string): string {
  return (
    `This model's maximum context length is ${context} tokens, and the prompt alone has ${size}. ` +
    "Shorten it, or start the server with a larger --context."
  );
}
