import type { EngineRequest, FinishReason, SequenceOutput, Tier } from "../protocol.ts";
import type { LogitRules } from "./logit-rules.ts";
import type { LogprobTrail } from "./logprob-trail.ts";
import type { Sampler } from "./native/sampler.ts";
import type { Vocabulary } from "./native/vocabulary.ts";
import type { Sequence } from "./scheduler/sequence.ts";
import type { SequenceText } from "./text/sequence-text.ts";

/** What of a vocabulary turns tokens into text. */
export type TokenTexts = Pick<Vocabulary, "isEnd" | "piece">;

const NO_BYTES = new Uint8Array(0);

export interface GenerationParts {
  request: EngineRequest;
  index: number;
  arrival: number;
  /** Whose prefixes it may find, and who may find its own. */
  scope: string;
  promptTokens: readonly number[];
  /** Most tokens to generate: what was asked for, or what the context leaves. */
  limit: number;
  sampler: Sampler;
  rules: LogitRules | null;
  /** Null where no probabilities are wanted. */
  logprobs: LogprobTrail | null;
  text: SequenceText;
}

/** One sequence with all that turns its logits into text. */
export class Generation implements Sequence {
  readonly request: EngineRequest;
  readonly index: number;
  readonly tier: Tier;
  readonly scope: string;
  readonly owner: string;
  readonly arrival: number;
  readonly tokens: number[];
  readonly sampler: Sampler;
  readonly rules: LogitRules | null;
  readonly logprobs: LogprobTrail | null;
  readonly scored: boolean;
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Set when its client has gone; it leaves before the next step. */
  cancelled = false;
  /** Whether its start was told: a preempted one starts more than once. */
  announced = false;
  readonly #promptLength: number;
  readonly #limit: number;
  readonly #text: SequenceText;
  /** Drawn, but not yet turned into text. */
  readonly #fresh: number[] = [];
  #finish: FinishReason | null = null;
  /** Characters of the answer that were sent. */
  #sent = 0;
  /** Whether the last token ended it. */
  #ended = false;

  constructor(parts: GenerationParts) {
    this.request = parts.request;
    this.index = parts.index;
    this.tier = parts.request.tier;
    this.scope = parts.scope;
    this.owner = parts.request.owner;
    this.arrival = parts.arrival;
    this.tokens = [...parts.promptTokens];
    this.sampler = parts.sampler;
    this.rules = parts.rules;
    this.logprobs = parts.logprobs;
    this.scored = parts.request.logprobs?.prompt ?? false;
    this.#promptLength = parts.promptTokens.length;
    this.#limit = parts.limit;
    this.#text = parts.text;
  }

  get generated(): number {
    return this.tokens.length - this.#promptLength;
  }

  /** Its text is complete or a token ended it: nothing more is to be computed. */
  get finished(): boolean {
    return this.#finish !== null;
  }

  /** Whether nothing is to be drawn: its prompt is all that is wanted. */
  get promptOnly(): boolean {
    return this.#limit === 0;
  }

  /** Its prompt is computed, and that was all. */
  complete(): void {
    this.#finish = "length";
  }

  /** Takes the token that was drawn for it. */
  accept(token: number, vocabulary: TokenTexts): void {
    this.tokens.push(token);
    this.rules?.accept(token);
    this.#fresh.push(token);
    this.#ended = (vocabulary.isEnd(token) && !this.request.ignoreEos) || this.request.stopTokenIds.includes(token);
    if (this.#ended) this.#finish = "stop";
    else if (this.generated >= this.#limit) this.#finish = "length";
  }

  /**
   * Turns the tokens drawn since the last call into what the client is sent.
   *
   * @returns null when there were none, unless none were wanted
   */
  output(vocabulary: TokenTexts): SequenceOutput | null {
    const tokens = this.#fresh.length;
    if (tokens === 0 && !this.promptOnly) return null;
    let text = "";
    let reasoning = "";
    let stopped = false;
    const before = this.generated - tokens;
    for (let i = 0; i < tokens && !stopped; i++) {
      // The token that ends an answer is no part of it: as in vLLM, also where the vocabulary gives it a text.
      const ends = this.#ended && i === tokens - 1;
      const piece = ends ? NO_BYTES : vocabulary.piece(this.#fresh[i]!);
      const start = this.#text.answered;
      const certain = this.#text.push(piece, before + i + 1 > this.request.minTokens);
      text += certain.text;
      reasoning += certain.reasoning;
      stopped = certain.stopped;
      this.logprobs?.place(start, ends ? "end" : this.#text.thinking ? "thought" : "answer");
    }
    this.#fresh.length = 0;
    if (!stopped && this.#finish !== null) {
      const rest = this.#text.finish(this.generated > this.request.minTokens);
      text += rest.text;
      reasoning += rest.reasoning;
      stopped = rest.stopped;
    }
    if (stopped) this.#finish = "stop";
    const finish = this.#finish === null ? null : this.#summary(this.#finish);
    const output: SequenceOutput = { id: this.request.id, index: this.index, text, reasoning, tokens, finish };
    if (this.logprobs !== null) this.#tellLogprobs(this.logprobs, output, finish !== null && !stopped);
    return output;
  }

  #tellLogprobs(logprobs: LogprobTrail, output: SequenceOutput, all: boolean): void {
    this.#sent += output.text.length;
    output.logprobs = logprobs.take(this.#sent, all);
    const prompt = logprobs.takePrompt();
    if (prompt !== null) output.promptLogprobs = prompt;
  }

  #summary(reason: FinishReason) {
    return { reason, completionTokens: this.generated, reasoningTokens: this.#text.reasoningTokens };
  }
}
