import type { SamplerName } from "../../../openapi/generation/sampler-order.ts";
import type { Sampling } from "../../protocol/sampling.ts";
import { DryPenalty } from "./dry-penalty.ts";
import type { SequenceBreakers } from "./sequence-breakers.ts";
import { TokenPenalties } from "./token-penalties.ts";

export interface LogitRulesOptions {
  sampling: Sampling;
  /** Tokens that end a sequence. */
  endTokens: readonly number[];
  ignoreEos: boolean;
  /** Tokens to generate before an end token may come. */
  minTokens: number;
  /** Other tokens that end this sequence; suppressed together with the end tokens. */
  stopTokenIds: readonly number[];
  /** Those of DRY's texts. */
  breakers: (texts: readonly string[]) => SequenceBreakers;
}

/**
 * A request's rules for single tokens: biases, penalties, DRY, a minimum length. They are written into the row of logits
 * before sampling, which touches a few tokens instead of the whole vocabulary.
 */
export class LogitRules {
  readonly #options: LogitRulesOptions;
  readonly #penalties: TokenPenalties | null;
  readonly #dry: DryPenalty | null;
  /** The order of penalties and DRY. */
  readonly #order: readonly SamplerName[];
  /** The last tokens of the prompt that DRY reads, and all generated ones; empty without DRY. */
  readonly #tokens: number[] = [];
  #generated = 0;

  private constructor(options: LogitRulesOptions, prompt: readonly number[]) {
    const { sampling } = options;
    this.#options = options;
    this.#order = sampling.order;
    this.#penalties = penalizes(sampling) ? new TokenPenalties(sampling, prompt) : null;
    const { dry } = sampling;
    this.#dry =
      dry !== null && sampling.order.includes("dry") ? new DryPenalty(dry, options.breakers(dry.breakers)) : null;
    if (dry !== null && this.#dry !== null) this.#tokens = prompt.slice(Math.max(0, prompt.length - dry.window));
  }

  /** @returns null when the request has no such rule: its logits then need not be touched */
  static for(options: LogitRulesOptions, prompt: readonly number[]): LogitRules | null {
    const { sampling } = options;
    const plain =
      !penalizes(sampling) &&
      (sampling.dry === null || !sampling.order.includes("dry")) &&
      sampling.logitBias.length === 0 &&
      !options.ignoreEos &&
      options.minTokens === 0;
    return plain ? null : new LogitRules(options, prompt);
  }

  /** Counts a generated token. */
  accept(token: number): void {
    this.#generated++;
    this.#penalties?.accept(token);
    if (this.#dry !== null) this.#tokens.push(token);
  }

  apply(logits: Float32Array): void {
    const { sampling, endTokens, ignoreEos, minTokens, stopTokenIds } = this.#options;
    // Biases precede penalties, as in vLLM and llama.cpp: the repetition penalty multiplies the biased logit.
    for (const [token, bias] of sampling.logitBias) if (token < logits.length) logits[token]! += bias;
    for (const name of this.#order) {
      if (name === "penalties") this.#penalties?.apply(logits);
      else if (name === "dry") this.#dry?.apply(logits, this.#tokens);
    }
    const early = this.#generated < minTokens;
    if (ignoreEos || early) for (const token of endTokens) logits[token] = Number.NEGATIVE_INFINITY;
    if (early) for (const token of stopTokenIds) if (token < logits.length) logits[token] = Number.NEGATIVE_INFINITY;
  }
}

function penalizes(sampling: Sampling): boolean {
  return !TokenPenalties.off(sampling) && sampling.order.includes("penalties");
}
