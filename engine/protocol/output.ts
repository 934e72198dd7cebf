/** tool_calls: the answer ends with tool calls. */
export type FinishReason = "stop" | "length" | "tool_calls";

/** A piece of a tool call. */
export interface ToolCallDelta {
  /** The call's index within the answer. */
  index: number;
  /** `id` and `name` come with a call's first piece alone. */
  id?: string;
  name?: string;
  /** More of its JSON text. */
  arguments: string;
}

/** A token and the logarithm of its probability before temperature, penalties and biases. */
export interface TokenLogprob {
  /** Perhaps half a character; of a control token, which adds nothing to the text, its name. */
  bytes: Uint8Array;
  logprob: number;
}

export interface RankedLogprob extends TokenLogprob {
  /** The best tokens at this place, best first. */
  top: TokenLogprob[];
}

/** Of a prompt's token; the logarithm is null for the first one. */
export type PromptLogprob = Omit<RankedLogprob, "logprob"> & { logprob: number | null };

export interface SequenceOutput {
  id: number;
  /** The index among the request's n sequences. */
  index: number;
  /** Text that became certain in this step; may be empty (half a character, or the start of a stop string). */
  text: string;
  /** The same for the model's reasoning (`<think>`). */
  reasoning: string;
  /** Absent where the step added nothing to a call. */
  toolCalls?: ToolCallDelta[];
  /** Tokens generated since this sequence's last output. */
  tokens: number;
  /** Of the tokens of `text`; absent unless requested. */
  logprobs?: RankedLogprob[];
  /** With a sequence's first output; absent unless requested. */
  promptLogprobs?: PromptLogprob[];
  finish: SequenceFinish | null;
}

export interface SequenceFinish {
  reason: FinishReason;
  /** The stop string that ended the sequence; null where another cause did. */
  stop: string | null;
  completionTokens: number;
  reasoningTokens: number;
  /** The prompt's tokens, where they are known only at the end: of an upstream. */
  prompt?: {
    tokens: number;
    cachedTokens: number;
    /** True where these tokens, or those of the answer, are estimates. */
    estimated: boolean;
  };
}

export interface SequenceStart {
  id: number;
  index: number;
  /** Prompt tokens taken from the prefix cache. */
  cachedTokens: number;
}
