/** tool_calls: the model ended its turn, and called tools in it. */
export type FinishReason = "stop" | "length" | "tool_calls";

/** A piece of a tool call. */
export interface ToolCallDelta {
  /** Which of the answer's calls. */
  index: number;
  /** Both of a call's first piece alone. */
  id?: string;
  name?: string;
  /** More of its JSON text. */
  arguments: string;
}

/** A token and the logarithm of its probability as the model gives it: before temperature, penalties and biases. */
export interface TokenLogprob {
  /** Perhaps half a character; of a control token, which shows nothing, its name. */
  bytes: Uint8Array;
  logprob: number;
}

export interface RankedLogprob extends TokenLogprob {
  /** The best tokens at this place, best first. */
  top: TokenLogprob[];
}

/** Of a prompt's token; null for the first, which nothing stands before. */
export type PromptLogprob = Omit<RankedLogprob, "logprob"> & { logprob: number | null };

export interface SequenceOutput {
  id: number;
  /** Which of the request's n sequences. */
  index: number;
  /** Text that became certain in this step; may be empty (half a character, or the start of a stop string). */
  text: string;
  /** The same for the model's thoughts (`<think>`). */
  reasoning: string;
  /** Of calls; left out where the step brought none. */
  toolCalls?: ToolCallDelta[];
  /** Tokens generated since this sequence's last output. */
  tokens: number;
  /** Of the tokens that `text` is made of; absent unless asked for. */
  logprobs?: RankedLogprob[];
  /** With a sequence's first output, where asked for. */
  promptLogprobs?: PromptLogprob[];
  finish: SequenceFinish | null;
}

export interface SequenceFinish {
  reason: FinishReason;
  completionTokens: number;
  reasoningTokens: number;
}

export interface SequenceStart {
  id: number;
  index: number;
  /** Prompt tokens that were not computed again. */
  cachedTokens: number;
}
