import type { EngineConfig, KvKind, ModelFacts, ModelNeeds } from "./config.ts";

/**
 * The messages between the server and one engine process: plain data, one typed union per direction.
 * A fake that speaks this protocol can stand in for the engine process.
 *
 * Life of a request: `submit` → `accepted` (its prompt is counted, it is queued) or `refused`;
 * then step messages carry `started` once per sequence and its outputs until one has `finish`.
 * `cancel` ends a request at any time: nothing more is sent for it.
 * Life of an `embed`: `accepted` or `refused`, then piece messages until every input has its vector.
 */

export const TIERS = ["priority", "default", "flex", "batch"] as const;
/** The promise a request bought, best first. */
export type Tier = (typeof TIERS)[number];

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
      messages: ChatMessage[] /** Values for the template's own switches. */;
      variables: Record<string, unknown>;
      thinking: Thinking;
      /** None: the template shows no tools, and no call is looked for in the answer. */
      tools: FunctionTool[];
    }
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] };

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

/** One text to be read: `pair` is a query and a document, told to a model that ranks. */
export type EmbeddingInput =
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] }
  | { kind: "pair"; query: string; document: string };

/** Texts whose meaning is wanted as one vector each; a model that ranks gives a vector of one score. */
export interface EmbeddingRequest {
  /** Unique among all requests. */
  id: number;
  tier: Tier;
  /** Whose it is, as an opaque name. */
  owner: string;
  inputs: EmbeddingInput[];
}

/** What is asked of tokens and texts alone: no step has to answer it. */
export type TokenQuestion =
  /** The tokens of a prompt, as a request with it would have them; refused as that would be. */
  | { kind: "prompt"; prompt: Prompt }
  /** Of a text by itself: `opening` adds the token that begins texts, `special` reads control tokens' texts as these. */
  | { kind: "text"; text: string; opening: boolean; special: boolean }
  /** The text of tokens, all of the model's vocabulary. */
  | { kind: "tokens"; tokens: number[] };

export interface TokenAnswer {
  tokens: number[];
  /** With the texts of control tokens. */
  text: string;
  /** The bytes of each token; perhaps half a character. */
  pieces: Uint8Array[];
}

export type ToEngine =
  | { type: "start"; config: EngineConfig }
  /** In place of `start`: answered with `measured` or `failed`, then the process exits. Nothing is loaded. */
  | { type: "measure"; config: EngineConfig }
  | { type: "submit"; request: EngineRequest }
  | { type: "embed"; request: EmbeddingRequest }
  | { type: "cancel"; id: number }
  /** Answered with `status`, also while a step computes. */
  | { type: "inspect" }
  /** Answered with `tokenized`, also while a step computes; ids are apart from those of requests. */
  | { type: "tokenize"; id: number; question: TokenQuestion };

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

/** What one step did, in milliseconds and counts. */
export interface StepStats {
  planMs: number;
  fillMs: number;
  decodeMs: number;
  sampleMs: number;
  /** Detokenizing and stop strings of the step before, and posting its message: done while this one computes. */
  textMs: number;
  postMs: number;
  /** From the start of this step's plan to the end of its sampling. */
  totalMs: number;
  /** What the step model said of decodeMs + sampleMs before the step; and of its online part alone, 0 without one. */
  predictedMs: number;
  onlineMs: number;
  prefillTokens: number;
  decodeTokens: number;
  /** The same tokens by tier: priority and default; flex and batch. */
  onlineTokens: number;
  lowerTokens: number;
  /** Sequences in this step's plan. */
  batchSize: number;
  running: number;
  waiting: number;
  cellsUsed: number;
  cells: number;
  /** Sequences that gave their place up before this step, and go on later. */
  displaced: number;
  /** Idle prefixes pushed out of the cache before this step; of these, those that host memory took. */
  evicted: number;
  parked: number;
  /** Tokens that came back from host memory. */
  resumed: number;
  /** Bytes of host memory that prefixes take. */
  parkedBytes: number;
}

/**
 * The cost of a step: t = o + p·prefill + d·decode + k·kv, and m more for each pass over the weights past the first; a
 * unified cache takes no other. All in milliseconds.
 */
export interface Fit {
  o: number;
  p: number;
  d: number;
  k: number;
  m: number;
}

/** What an engine has to do for one tier. */
export interface TierBacklog {
  /** Sequences that wait for a place, and those that run. */
  waiting: number;
  running: number;
  /** Prompt tokens that both have still to compute; without those that the cache is taken to have by then. */
  prefill: number;
}

/** What an engine has to do and what that costs there, for whoever decides whether it gets more. */
export interface Backlog {
  tiers: Record<Tier, TierBacklog>;
  /** Sequences of flex that may run at once; of online tiers it is `ModelFacts.sequences`. */
  flexPlaces: number;
  /** Positions that the next token of a running sequence attends over, on average. */
  kvPerDecode: number;
  /** Null until enough steps are measured. */
  fit: Fit | null;
  /** Whether streams and prompts have steps of their own, by turns. */
  turns: boolean;
}

/** One per step: everything that became known since the last one. */
export interface StepMessage {
  type: "step";
  backlog: Backlog;
  /** Milliseconds since the step began. */
  agoMs: number;
  /** The sequences of which this step was the first. */
  started: SequenceStart[];
  outputs: SequenceOutput[];
  stats: StepStats;
}

/** One per piece of embedding work: what one decode between two steps has brought. */
export interface PieceMessage {
  type: "piece";
  /** Requests whose first input began. */
  started: number[];
  /** Of length 1, or of scores as they come from a model that ranks. */
  vectors: { id: number; index: number; vector: Float32Array }[];
  stats: PieceStats;
}

export interface PieceStats {
  /** Its decode, and what was read of it. */
  ms: number;
  /** Whether somebody waits for it: it was of tier priority or default. */
  online: boolean;
  /** Inputs and tokens that it computed. */
  inputs: number;
  tokens: number;
}

/** What the fit says of steps to come, in milliseconds and sequences or tokens. */
export interface StepOutlook {
  /** Positions that each sequence is taken to have, none in common with another. */
  context: number;
  /** Steps of `batch` decodes and nothing else. */
  decodes: { batch: number; ms: number }[];
  /** A step of flex and batch alone takes at most `ms`: so many decodes, or so many tokens of a fresh prompt. */
  alone: { ms: number; decodes: number; prefill: number };
  /** Beside so many online streams, which take `onlineMs` alone, a step takes at most `ms`: so many decodes more. */
  beside: { streams: number; onlineMs: number; ms: number; decodes: number }[];
}

export interface EngineStatus {
  /** Measured since the start: those with prompt tokens, those of decodes alone. */
  steps: { prefill: number; decode: number };
  /** Of |measured − predicted| ÷ measured over the late steps; 0 before the first. */
  error: { median: number; mean: number };
  /** Most tokens of each kind in one step for which the fit is believed. */
  reach: { prefill: number; decode: number };
  /** Both null until enough decodes were measured. */
  fit: Fit | null;
  outlook: StepOutlook | null;
  kv: KvKind;
  /** Reserved: those that flex and batch leave to online work when they start; of sequences too. */
  cells: { total: number; used: number; reserved: number };
  /** What ended sequences left for others to go on from. */
  prefixes: { count: number; cells: number };
  sequences: { total: number; reserved: number };
  /** Sequences. */
  running: Record<Tier, number>;
  waiting: Record<Tier, number>;
}

/** A refusal or a failure as the server will tell its client. */
export interface EngineError {
  status: number;
  type: "invalid_request_error" | "server_error";
  code: string;
  param: string | null;
  message: string;
}

export type FromEngine =
  /** 0 to 1 while the weights load. */
  | { type: "loading"; progress: number }
  | { type: "ready"; facts: ModelFacts; warnings: string[] }
  | { type: "measured"; needs: ModelNeeds }
  /** The model can't be loaded; the process exits after it. */
  | { type: "failed"; message: string }
  | { type: "accepted"; id: number; promptTokens: number; promptText: string | null }
  | { type: "refused"; id: number; error: EngineError }
  /** Null from an engine that has no steps: its model only embeds. */
  | { type: "status"; status: EngineStatus | null }
  | { type: "tokenized"; id: number; answer: TokenAnswer | { error: EngineError } }
  | PieceMessage
  | StepMessage;
