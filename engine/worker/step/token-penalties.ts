import type { Sampling } from "../../protocol/sampling.ts";

type PenaltyRules = Pick<Sampling, "frequencyPenalty" | "presencePenalty" | "repetitionPenalty" | "penaltyWindow">;

/**
 * The penalties of tokens that occurred. Without a window the frequency and presence penalties count generated tokens, as
 * in OpenAI's API, and the repetition penalty the prompt's too, as in vLLM. With one, all three count the last tokens of
 * both, as in llama.cpp.
 */
export class TokenPenalties {
  readonly #rules: PenaltyRules;
  /** Tokens of the prompt that only the repetition penalty counts. */
  readonly #prompt = new Set<number>();
  readonly #counts = new Map<number, number>();
  /** The counted tokens, where they leave the window; null without a window. */
  readonly #last: number[] | null;
  /** The number of tokens that left the window. */
  #left = 0;

  constructor(rules: PenaltyRules, prompt: readonly number[]) {
    this.#rules = rules;
    this.#last = rules.penaltyWindow === null ? null : [];
    if (rules.penaltyWindow !== null) {
      for (const token of prompt.slice(Math.max(0, prompt.length - rules.penaltyWindow))) this.accept(token);
    } else if (rules.repetitionPenalty !== 1) {
      for (const token of prompt) this.#prompt.add(token);
    }
  }

  /** True where no logit is changed. */
  static off({ frequencyPenalty, presencePenalty, repetitionPenalty, penaltyWindow }: PenaltyRules): boolean {
    return penaltyWindow === 0 || (frequencyPenalty === 0 && presencePenalty === 0 && repetitionPenalty === 1);
  }

  /** Counts a generated token. */
  accept(token: number): void {
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
    if (this.#last === null) return;
    this.#last.push(token);
    if (this.#last.length - this.#left <= this.#rules.penaltyWindow!) return;
    const oldest = this.#last[this.#left++]!;
    const count = this.#counts.get(oldest)! - 1;
    if (count > 0) this.#counts.set(oldest, count);
    else this.#counts.delete(oldest);
  }

  apply(logits: Float32Array): void {
    const { frequencyPenalty, presencePenalty, repetitionPenalty } = this.#rules;
    if (repetitionPenalty !== 1) this.#repetition(logits, repetitionPenalty);
    if (frequencyPenalty === 0 && presencePenalty === 0) return;
    for (const [token, count] of this.#counts) logits[token]! -= count * frequencyPenalty + presencePenalty;
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
