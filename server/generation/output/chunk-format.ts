import type { FinishReason, PromptLogprob, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";

/** What every chunk and every whole body of one call says about it. */
export interface AnswerIdentity {
  id: string;
  created: number;
  model: string;
  tier: "priority" | "default" | "flex";
  fingerprint: string;
}

/** What of an output is told as it comes. */
export type SaidPiece = Pick<SequenceOutput, "text" | "reasoning" | "toolCalls" | "logprobs">;

/** Events of one call's stream, as whole `data: …\n\n` texts; all but the text itself is worked out once. */
export interface ChunkFormat {
  /** A choice's first event; empty where the endpoint has none. `prompt` is echoed, with its probabilities if wanted. */
  first(choice: number, prompt: string, logprobs?: readonly PromptLogprob[]): string;
  delta(choice: number, said: SaidPiece): string;
  last(choice: number, reason: FinishReason): string;
  usage(usage: Usage): string;
}

export const DONE = "data: [DONE]\n\n";
