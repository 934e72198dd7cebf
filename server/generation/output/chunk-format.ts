import type { FinishReason, PromptLogprob, SequenceOutput } from "../../../engine/protocol/output.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";

/** Fields of every chunk and every body of one answer. */
export interface AnswerIdentity {
  id: string;
  created: number;
  model: string;
  tier: "priority" | "default" | "flex";
  fingerprint: string;
}

/** The parts of an output that a stream sends at once. */
export type TextDelta = Pick<SequenceOutput, "text" | "reasoning" | "toolCalls" | "logprobs">;

/** Writes the events of one stream, as whole `data: …\n\n` texts. Constant parts are written once. */
export interface ChunkFormat {
  /** A choice's first event; empty where the endpoint has none. `prompt` is the echoed prompt, with its log probabilities where requested. */
  first(choice: number, prompt: string, logprobs?: readonly PromptLogprob[]): string;
  delta(choice: number, said: TextDelta): string;
  last(choice: number, reason: FinishReason): string;
  usage(usage: Usage): string;
}

export const DONE = "data: [DONE]\n\n";
