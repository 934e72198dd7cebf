import type { Dry } from "../../protocol/sampling.ts";
import { repeatLengths } from "./repeat-lengths.ts";
import type { SequenceBreakers } from "./sequence-breakers.ts";

/** The logarithm of the highest float: base ^ exponent stays below it. */
const LOG_OF_HIGHEST = 88.7228391;
/** Bases closer to 1 need no bound of the exponent. */
const LEAST_BOUNDED_BASE = 1.000001;
/** A higher penalty would make a logit −∞, and so exclude the only token that a grammar allows. */
const HIGHEST_PENALTY = 1e30;

/**
 * DRY: lowers the logit of each token that would continue a repetition in the last tokens, the more the longer it is. The
 * penalties are those of llama.cpp's sampler. That one cannot be part of a chain here: `llama_sampler_sample` has it count
 * every drawn token, also one that a grammar refuses or that the end of reasoning replaces.
 */
export class DryPenalty {
  readonly #dry: Dry;
  readonly #breakers: SequenceBreakers;

  constructor(dry: Dry, breakers: SequenceBreakers) {
    this.#dry = dry;
    this.#breakers = breakers;
  }

  /** @param tokens those of prompt and answer; older ones than the window may be missing */
  apply(logits: Float32Array, tokens: readonly number[]): void {
    const { window, allowedLength } = this.#dry;
    const from = Math.max(0, tokens.length - window);
    if (tokens.length - from <= allowedLength) return;
    const limit = this.#breakers.limit(tokens, from);
    if (limit < allowedLength) return;
    for (const [token, length] of this.#continuations(tokens, from, limit)) {
      if (token >= logits.length || this.#breakers.contains(token)) continue;
      logits[token]! -= this.#penalty(length - allowedLength);
    }
  }

  /** The longest repetition that each token would continue, of those that are penalized. */
  #continuations(tokens: readonly number[], from: number, limit: number): Map<number, number> {
    const lengths = repeatLengths(tokens, from);
    const longest = new Map<number, number>();
    for (let i = 0; i < lengths.length - 1; i++) {
      const length = Math.min(lengths[i]!, limit);
      if (length < this.#dry.allowedLength) continue;
      const next = tokens[from + i + 1]!;
      if (length > (longest.get(next) ?? -1)) longest.set(next, length);
    }
    return longest;
  }

  /** Computed as llama.cpp does: float parameters, a double power. */
  #penalty(exponent: number): number {
    const [base, multiplier] = [Math.fround(this.#dry.base), Math.fround(this.#dry.multiplier)];
    const most = base > LEAST_BOUNDED_BASE ? Math.trunc(LOG_OF_HIGHEST / Math.log(base)) : exponent;
    return Math.min(HIGHEST_PENALTY, multiplier * base ** Math.min(exponent, most));
  }
}
