import type { Sampling } from "../../protocol/request.ts";

export interface LogitRulesOptions {
  sampling: Sampling;
  /** Tokens that end a sequence. */
  endTokens: readonly number[];
  ignoreEos: boolean;
  /** Tokens to generate before an end token may come. */
  minTokens: number;
  /** Other tokens that end this sequence; suppressed together with the end tokens. */
  stopTokenIds: readonly number[];
}

/**
 * A request's rules for single tokens: biases, penalties, a minimum length. They are written into the row of logits before
 * sampling, which touches a few tokens instead of the whole vocabulary.
 */
export class LogitRules {
  readonly #options: LogitRulesOptions;
  readonly #prompt = new Set<number>();
  readonly #counts = new Map<number, number>();
  #generated = 0;

  private constructor(options: LogitRulesOptions, prompt: readonly number[]) {
    this.#options = options;
    if (options.sampling.repetitionPenalty !== 1) for (const token of prompt) this.#prompt.add(token);
  }

  /** @returns null when the request has no such rule: its logits then need not be touched */
  static for(options: LogitRulesOptions, prompt: readonly number[]): LogitRules | null {
    const { frequencyPenalty, presencePenalty, repetitionPenalty, logitBias } = options.sampling;
    const plain =
      frequencyPenalty === 0 &&
      presencePenalty === 0 &&
      repetitionPenalty === 1 &&
      logitBias.length === 0 &&
      !options.ignoreEos &&
      options.minTokens === 0;
    return plain ? null : new LogitRules(options, prompt);
  }

  /** Counts a generated token. */
  accept(token: number): void {
    this.#generated++;
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
  }

  apply(logits: Float32Array): void {
    const { sampling, endTokens, ignoreEos, minTokens, stopTokenIds } = this.#options;
    // Biases precede penalties, as in vLLM and llama.cpp: the repetition penalty multiplies the biased logit.
    for (const [token, bias] of sampling.logitBias) if (token < logits.length) logits[token]! += bias;
    if (sampling.repetitionPenalty !== 1) this.#repetition(logits, sampling.repetitionPenalty);
    if (sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0) {
      for (const [token, count] of this.#counts)
        logits[token]! -= count * sampling.frequencyPenalty + sampling.presencePenalty;
    }
    const early = this.#generated < minTokens;
    if (ignoreEos || early) for (const token of endTokens) logits[token] = Number.NEGATIVE_INFINITY;
    if (early) for (const token of stopTokenIds) if (token < logits.length) logits[token] = Number.NEGATIVE_INFINITY;
  }

  /** As in Keskar et al. 2019 (CTRL), but multiplying negative logits: dividing them would make the token more probable. */
  #repetition(logits: Float32Array, penalty: number): void {
    const penalize = (token: number) => {
      const logit = logits[token]!;
      logits[token] = logit > 0 ? logit / penalty : logit * penalty;
    };
    for (const token of this.#prompt) penalize(token);
    for (const token of this.#counts.keys()) if (!this.#prompt.has(token)) penalize(token);
  }
}
