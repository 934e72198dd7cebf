import type { Prompt } from "./prompt.ts";

export const TIERS = ["priority", "default", "flex", "batch"] as const;
/** The promise a request bought, best first. */
export type Tier = (typeof TIERS)[number];

export interface Sampling {
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  /** 0 is off. */
  topK: number;
  minP: number;
  /** These two count the generated text only. */
  frequencyPenalty: number;
  presencePenalty: number;
  /** Counts the prompt too; 1 is off. */
  repetitionPenalty: number;
  logitBias: [token: number, bias: number][];
  /** Choice i of a request samples with seed + i; null draws one at random. */
  seed: number | null;
}

/** What the output must look like. */
export interface GrammarRule {
  /** GBNF; its first rule is `root`. */
  gbnf: string;
  /**
   * Nothing is enforced until the answer holds one of these strings; from that string's first character on it is.
   * null: from the answer's first token. Thoughts before the answer are free in either case.
   */
  triggers: readonly string[] | null;
  /** GBNF of what the model's form of answers has before `root`; left out for nothing. Names no rules. */
  lead?: string;
}

/** What a request wants to know of its tokens' probabilities. */
export interface LogprobsWanted {
  /** So many of the best tokens at each place, beside the one that stands there. */
  top: number;
  /** Of the prompt's tokens too. */
  prompt: boolean;
}

export interface EngineRequest {
  /** Unique for as long as the server lives. */
  id: number;
  tier: Tier;
  /** Whose it is, as an opaque name. */
  owner: string;
  /** What it came by, such as `/v1/completions`: its time is told under this name. */
  endpoint: string;
  prompt: Prompt;
  /** Sequences over the one prompt. */
  n: number;
  /** Most tokens to generate for each sequence, perhaps none; null runs until the context is full. */
  maxTokens: number | null;
  /** No end token and no stop string ends a sequence before this many tokens. */
  minTokens: number;
  stop: string[];
  stopTokenIds: number[];
  ignoreEos: boolean;
  sampling: Sampling;
  grammar: GrammarRule | null;
  /** Send the prompt's text back with `accepted`. */
  echo: boolean;
  /** Null: nothing is computed for it. */
  logprobs: LogprobsWanted | null;
}

/** The tiers of synchronous requests; batch lines alone have the fourth. */
export const ONLINE_TIERS = ["priority", "default", "flex"] as const satisfies Tier[];

export type OnlineTier = (typeof ONLINE_TIERS)[number];

/** The tiers whose work goes before a new request of a tier, its own included. */
export const TIERS_AHEAD: Record<OnlineTier, readonly OnlineTier[]> = {
  priority: ["priority"],
  default: ["priority", "default"],
  flex: ["priority", "default", "flex"],
};
