import type { FinishReason, SequenceFinish, SequenceOutput, ToolCallDelta } from "../../protocol/output.ts";
import type { EngineRequest, Tier } from "../../protocol/request.ts";
import type { GrammarConstraint } from "../grammar/grammar-constraint.ts";
import type { Sampler } from "../native/sampling/sampler.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import type { Sequence } from "../scheduler/scheduled-sequence.ts";
import type { ReasoningBudget } from "../text/output/reasoning-budget.ts";
import type { SequenceText } from "../text/output/sequence-text.ts";
import type { LogitRules } from "./logit-rules.ts";
import type { SequenceLogprobs } from "./logprobs.ts";

/** The part of a vocabulary that turns tokens into text. */
export type TokenTexts = Pick<Vocabulary, "isEnd" | "piece">;

const NO_BYTES = new Uint8Array(0);

export interface EngineSequenceParts {
  request: EngineRequest;
  index: number;
  arrival: number;
  /** The scope within which prefixes are shared. */
  scope: string;
  promptTokens: readonly number[];
  /** Most tokens to generate: the requested number, or the rest of the context. */
  limit: number;
  sampler: Sampler;
  rules: LogitRules | null;
  constraint: GrammarConstraint | null;
  /** Null where no log probabilities are wanted. */
  logprobs: SequenceLogprobs | null;
  text: SequenceText;
  thoughts: ReasoningBudget | null;
  /** Bytes of tokens that are text in this sequence's output only: the marks of tool calls. */
  marks?: ReadonlyMap<number, Uint8Array>;
}

/** One sequence, from its logits to its text. */
export class EngineSequence implements Sequence {
  readonly request: EngineRequest;
  readonly index: number;
  readonly tier: Tier;
  readonly scope: string;
  readonly owner: string;
  readonly endpoint: string;
  readonly arrival: number;
  readonly tokens: number[];
  readonly sampler: Sampler;
  readonly rules: LogitRules | null;
  readonly constraint: GrammarConstraint | null;
  readonly logprobs: SequenceLogprobs | null;
  readonly scored: boolean;
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** True once its client has disconnected; the sequence ends before the next step. */
  cancelled = false;
  /** True once its start was announced: a preempted sequence starts more than once. */
  announced = false;
  readonly #promptLength: number;
  readonly #limit: number;
  readonly #text: SequenceText;
  readonly #thoughts: ReasoningBudget | null;
  readonly #marks: ReadonlyMap<number, Uint8Array> | undefined;
  /** Tokens that were drawn and are not yet text. */
  readonly #fresh: number[] = [];
  #finish: FinishReason | null = null;
  /** Characters of the answer that were sent. */
  #sent = 0;
  /** True when the last token ended the sequence. */
  #ended = false;

  constructor(parts: EngineSequenceParts) {
    this.request = parts.request;
    this.index = parts.index;
    this.tier = parts.request.tier;
    this.scope = parts.scope;
    this.owner = parts.request.owner;
    this.endpoint = parts.request.endpoint;
    this.arrival = parts.arrival;
    this.tokens = [...parts.promptTokens];
    this.sampler = parts.sampler;
    this.rules = parts.rules;
    this.constraint = parts.constraint;
    this.logprobs = parts.logprobs;
    this.scored = parts.request.logprobs?.prompt ?? false;
    this.#promptLength = parts.promptTokens.length;
    this.#limit = parts.limit;
    this.#text = parts.text;
    this.#thoughts = parts.thoughts;
    this.#marks = parts.marks;
  }

  get answer(): { written: number; left: number } {
    return { written: this.generated, left: this.#limit - this.generated };
  }

  get generated(): number {
    return this.tokens.length - this.#promptLength;
  }

  /** Whether its grammar is compiled. One that was dropped while the sequence waited is compiled again between the steps. */
  ready(): boolean {
    const isWanted = () => !this.cancelled && this.state !== "ended";
    return this.constraint?.ready({ tier: this.tier, isWanted }) ?? true;
  }

  /** True when the text is complete or a token ended it: no more tokens are computed. */
  get finished(): boolean {
    return this.#finish !== null;
  }

  /** The token to accept for a drawn one: another where reasoning has to end. All tokens before it are text by now. */
  chosen(drawn: number): number {
    if (this.#thoughts === null) return drawn;
    return this.#thoughts.take(drawn, this.#text, (token) => this.constraint?.allows(token) ?? true);
  }

  /** True when only the prompt is computed and no token is drawn. */
  get promptOnly(): boolean {
    return this.#limit === 0;
  }

  /** Ends a sequence of which only the prompt was wanted. */
  complete(): void {
    this.#finish = "length";
  }

  /** Takes the drawn token. */
  accept(token: number, vocabulary: TokenTexts): void {
    this.tokens.push(token);
    this.rules?.accept(token);
    this.constraint?.accept(token);
    this.#fresh.push(token);
    this.#ended = (vocabulary.isEnd(token) && !this.request.ignoreEos) || this.request.stopTokenIds.includes(token);
    // After a complete grammar only an end token could follow, which need not be computed.
    if (this.#ended || this.constraint?.over) this.#finish = "stop";
    else if (this.generated >= this.#limit) this.#finish = "length";
  }

  /**
   * Turns the tokens drawn since the last call into the output for the client.
   *
   * @returns null without such tokens, unless only the prompt was wanted
   */
  output(vocabulary: TokenTexts): SequenceOutput | null {
    const tokens = this.#fresh.length;
    if (tokens === 0 && !this.promptOnly) return null;
    let text = "";
    let reasoning = "";
    const toolCalls: ToolCallDelta[] = [];
    let stopped = false;
    const before = this.generated - tokens;
    for (let i = 0; i < tokens && !stopped; i++) {
      // The token that ends an answer is no part of it, as in vLLM, even where the vocabulary has a text for it.
      const token = this.#fresh[i]!;
      const ends = this.#ended && i === tokens - 1;
      const piece = ends ? NO_BYTES : (this.#marks?.get(token) ?? vocabulary.piece(token));
      const start = this.#text.answered;
      const certain = this.#text.push(piece, before + i + 1 > this.request.minTokens);
      text += certain.text;
      reasoning += certain.reasoning;
      if (certain.calls !== undefined) toolCalls.push(...certain.calls);
      stopped = certain.stopped;
      this.logprobs?.place(start, ends ? "end" : this.#partSince(start));
    }
    this.#fresh.length = 0;
    if (!stopped && this.#finish !== null) {
      const rest = this.#text.finish(this.generated > this.request.minTokens);
      text += rest.text;
      reasoning += rest.reasoning;
      if (rest.calls !== undefined) toolCalls.push(...rest.calls);
      stopped = rest.stopped;
    }
    if (stopped) this.#finish = "stop";
    const finish = this.#finish === null ? null : this.#summary(this.#finish);
    const output: SequenceOutput = { id: this.request.id, index: this.index, text, reasoning, tokens, finish };
    if (toolCalls.length > 0) output.toolCalls = toolCalls;
    if (this.logprobs !== null) this.#addLogprobs(this.logprobs, output, finish !== null && !stopped);
    return output;
  }

  /** The part that the last token belongs to; the answer had `start` characters before it. */
  #partSince(start: number): "answer" | "thought" | "call" {
    if (this.#text.thought) return "thought";
    return this.#text.called && this.#text.answered === start ? "call" : "answer";
  }

  #addLogprobs(logprobs: SequenceLogprobs, output: SequenceOutput, all: boolean): void {
    this.#sent += output.text.length;
    output.logprobs = logprobs.take(this.#sent, all);
    const prompt = logprobs.takePrompt();
    if (prompt !== null) output.promptLogprobs = prompt;
  }

  #summary(end: FinishReason): SequenceFinish {
    const reason: FinishReason = end === "stop" && this.#text.called ? "tool_calls" : end;
    const { stopString, reasoningTokens } = this.#text;
    return { reason, stop: stopString, completionTokens: this.generated, reasoningTokens };
  }
}
