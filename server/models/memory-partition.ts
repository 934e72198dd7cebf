import type { ModelNeeds } from "../../engine/protocol/config.ts";
import { OptionsError } from "../../platform/options-error.ts";

/**
 * What each of several models may take of the memory, decided before any of them is loaded: an equal part, or the least
 * that it needs where that is more, and never more than it could use. Models that take turns may together have more than
 * there is; others may not. All in bytes.
 */
export class MemoryPartition {
  /** What all loaded models may take together. */
  readonly budget: number;
  readonly #models: number;
  readonly #takeTurns: boolean;
  readonly #shares = new Map<string, number>();

  /** @param models how many there are, those included whose needs are not known yet */
  constructor(budget: number, models: number, takeTurns: boolean) {
    this.budget = budget;
    this.#models = models;
    this.#takeTurns = takeTurns;
  }

  /** What a model may take; null for one that was never entered. */
  shareOf(id: string): number | null {
    return this.#shares.get(id) ?? null;
  }

  /** Enters the models that are known at the start. @throws OptionsError when they do not fit */
  enter(models: readonly { id: string; needs: ModelNeeds }[]): void {
    for (const { id, needs } of models) this.#refuseTooLarge(id, needs);
    const least = models.reduce((sum, { needs }) => sum + needs.least, 0);
    const fit = least <= this.budget;
    if (!fit && !this.#takeTurns) {
      const all = models.map(({ id, needs }) => `'${id}' ${sizeOf(needs.least)}`).join(", ");
      throw new OptionsError(
        `The models do not fit into memory together: they need at least ${all}, and ${sizeOf(this.budget)} are there ` +
          "for them. Serve fewer, lower --context, or let them take turns: --keep-alive 5m loads them when they are " +
          "asked for and unloads those that are idle.",
      );
    }
    const part = fit ? this.#equalPart(models.map(({ needs }) => needs.least)) : this.budget / this.#models;
    for (const { id, needs } of models) this.#shares.set(id, shareOf(needs, part));
  }

  /** Enters one more, whose needs were not known at the start. @throws OptionsError when it does not fit beside them */
  add(id: string, needs: ModelNeeds): void {
    this.#refuseTooLarge(id, needs);
    const taken = this.#takeTurns ? 0 : [...this.#shares.values()].reduce((sum, share) => sum + share, 0);
    const left = this.budget - taken;
    if (needs.least > left) {
      throw new OptionsError(
        `'${id}' does not fit into memory beside the other models: it needs at least ${sizeOf(needs.least)}, and ` +
          `${sizeOf(left)} are left. Serve fewer, lower --context, or let them take turns with --keep-alive 5m.`,
      );
    }
    this.#shares.set(id, Math.min(left, shareOf(needs, this.budget / this.#models)));
  }

  #refuseTooLarge(id: string, { least }: ModelNeeds): void {
    if (least <= this.budget) return;
    throw new OptionsError(
      `'${id}' alone does not fit into memory: it needs at least ${sizeOf(least)}, and ${sizeOf(this.budget)} are there ` +
        "for it. Take a smaller quantization, or lower --context.",
    );
  }

  /** What is left for each of those that can do with it, when the others have the least that they need. */
  #equalPart(least: readonly number[]): number {
    let left = this.budget;
    let sharing = this.#models;
    for (const need of [...least].sort((a, b) => b - a)) {
      if (need <= left / sharing) break;
      left -= need;
      sharing--;
    }
    return left / Math.max(1, sharing);
  }
}

function shareOf({ least, wanted }: ModelNeeds, part: number): number {
  return Math.floor(Math.max(least, Math.min(wanted, part)));
}

function sizeOf(bytes: number): string {
  return bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
