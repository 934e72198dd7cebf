import type { JsonSchema } from "../../grammar/schema/keywords.ts";
import type { Prompt } from "./prompt.ts";
import type { Sampling } from "./sampling.ts";

export const TIERS = ["priority", "default", "flex", "batch"] as const;
/** The tiers of requests, best first. */
export type Tier = (typeof TIERS)[number];

/** The form that the output must have. */
export interface GrammarRule {
  /** GBNF; its first rule is `root`. */
  gbnf: string;
  /**
   * The grammar is enforced from the first character of one of these strings on, once the answer holds it; null: from the
   * answer's first token. Reasoning before the answer is free in either case.
   */
  triggers: readonly string[] | null;
  /** GBNF of the text that the model's form of answers has before `root`, if any. Names no rules. */
  lead?: string;
  /**
   * The JSON schema that the grammar was made from, for an engine that enforces it by its own means; null for a grammar of the
   * client. Absent where a local engine process enforces the grammar.
   */
  schema?: JsonSchema | null;
  /** The client's word on it, for an engine that enforces only strict ones; absent where it said nothing. */
  strict?: boolean;
}

/** The log probabilities of a request. */
export interface LogprobsWanted {
  /** The number of best tokens at each position, beside the token that stands there. */
  top: number;
  /** True: of the prompt's tokens too. */
  prompt: boolean;
}

export interface EngineRequest {
  /** Unique for as long as the server lives. */
  id: number;
  tier: Tier;
  /** An opaque name. */
  owner: string;
  /** The path of the request, such as `/v1/completions`; its time is reported under it. */
  endpoint: string;
  prompt: Prompt;
  /** Sequences over the one prompt. */
  n: number;
  /** Most tokens to generate for each sequence, 0 included; null runs until the context is full. */
  maxTokens: number | null;
  /** Tokens before which no end token and no stop string ends a sequence. */
  minTokens: number;
  stop: string[];
  stopTokenIds: number[];
  ignoreEos: boolean;
  sampling: Sampling;
  grammar: GrammarRule | null;
  /** Send the prompt's text back with `accepted`. */
  echo: boolean;
  /** Null: none are computed. */
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
