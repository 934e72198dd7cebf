export interface ChatMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
  /** Content parts are flattened to text before they come here. */
  content: string | null;
  name?: string;
  reasoning_content?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
}

/** OpenAI's values, least first. */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** What a request says of the thoughts before its answer. */
export interface Thinking {
  effort: ReasoningEffort | null;
  /** Most tokens of the thoughts, then they are closed; Infinity is without bound, null the engine's own default. */
  budget: number | null;
}

/** A function that the model may call, as the client described it. */
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
      /** None: the template shows no tools, and no call is looked for in the answer. */
      tools: FunctionTool[];
    }
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] };

/** Why a prompt is refused that fills the context alone; `size` is what it has. Both processes refuse some of them. */
export function tooLongText(context: number, size: string): string {
  return (
    `This model's maximum context length is ${context} tokens, and the prompt alone has ${size}. ` +
    "Shorten it, or start the server with a larger --context."
  );
}
