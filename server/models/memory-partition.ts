import type { ModelNeeds } from "../../engine/protocol/config.ts";
import { OptionsError } from "../../platform/options-error.ts";

/**
 * The memory of each of several models in bytes, decided before the first one is loaded: an equal part, at least the model's
 * minimum, at most its maximum. With a keep-alive the models are not all loaded at once, and their sum may exceed the budget.
 */
export class MemoryPartition {
  /** Bytes that all loaded models may take together. */
  readonly budget: number;
  readonly #models: number;
  readonly #onDemand: boolean;
  readonly #shares = new Map<string, number>();

  /** @param models number of all models, also of those whose needs are not known yet */
  constructor(budget: number, models: number, onDemand: boolean) {
    this.budget = budget;
    this.#models = models;
    this.#onDemand = onDemand;
  }

  /** Bytes that a model may take; null if it was not added. */
  shareOf(id: string): number | null {
    return this.#shares.get(id) ?? null;
  }

  /** Adds the models that are known at the start. @throws OptionsError if they do not fit */
  enter(models: readonly { id: string; needs: ModelNeeds }[]): void {
    for (const { id, needs } of models) this.#refuseTooLarge(id, needs);
    const least = models.reduce((sum, { needs }) => sum + needs.least, 0);
    const fit = least <= this.budget;
    if (!fit && !this.#onDemand) {
      const all = models.map(({ id, needs }) => `'${id}' ${sizeOf(needs.least)}`).join(", ");
      throw new OptionsError(
        `The models do not fit into memory together: they need at least ${all}, and ${sizeOf(this.budget)} are ` +
          "available. Serve fewer models, lower --context, or load them on demand: --keep-alive 5m unloads idle models.",
      );
    }
    const part = fit ? this.#equalPart(models.map(({ needs }) => needs.least)) : this.budget / this.#models;
    for (const { id, needs } of models) this.#shares.set(id, shareOf(needs, part));
  }

  /** Adds one more model. @throws OptionsError if it does not fit beside the others */
  add(id: string, needs: ModelNeeds): void {
    this.#refuseTooLarge(id, needs);
    const taken = this.#onDemand ? 0 : [...this.#shares.values()].reduce((sum, share) => sum + share, 0);
    const left = this.budget - taken;
    if (needs.least > left) {
      throw new OptionsError(
        `'${id}' does not fit into memory beside the other models: it needs at least ${sizeOf(needs.least)}, and ` +
          `${sizeOf(left)} are left. Serve fewer models, lower --context, or load them on demand with --keep-alive 5m.`,
      );
    }
    this.#shares.set(id, Math.min(left, shareOf(needs, this.budget / this.#models)));
  }

  #refuseTooLarge(id: string, { least }: ModelNeeds): void {
    if (least <= this.budget) return;
    throw new OptionsError(
      `'${id}' alone does not fit into memory: it needs at least ${sizeOf(least)}, and ${sizeOf(this.budget)} are ` +
        "available. Use a smaller quantization, or lower --context.",
    );
  }

  /** The equal part of those models whose minimum is below it, after the others have their minimum. */
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
