import type { EngineConfig } from "../../protocol/config.ts";
import type { Adapters } from "./adapters.ts";
import { EmbeddingContext } from "./embedding-context.ts";
import type { EmbeddingPlan } from "./embedding-plan.ts";
import type { Library } from "./library/library.ts";
import type { Model } from "./model.ts";

/** The contexts that pieces are computed in: one for all, and where that pays a small one for pieces of few tokens. */
export class EmbeddingContextPair {
  readonly #many: EmbeddingContext;
  readonly #few: EmbeddingContext | null;
  readonly #fewTokens: number;

  constructor(
    library: Library,
    model: Model,
    adapters: Adapters,
    config: EngineConfig,
    plan: EmbeddingPlan,
    threads: number,
  ) {
    const { cells, batchTokens: tokens, few } = plan;
    const many = { cells, tokens, flashAttention: config.flashAttention };
    this.#many = new EmbeddingContext(library, model, adapters, config, plan, many, threads);
    this.#few = few === null ? null : new EmbeddingContext(library, model, adapters, config, plan, few, threads);
    this.#fewTokens = few?.tokens ?? 0;
  }

  /**
   * The one for a piece of so many tokens.
   *
   * @param complete whether all of its inputs begin and end in it: others find their cells in one place alone
   */
  for(tokens: number, complete: boolean): EmbeddingContext {
    return this.#few !== null && complete && tokens < this.#fewTokens ? this.#few : this.#many;
  }

  /** Forgets what an id holds. Never while a decode runs. */
  remove(id: number): void {
    this.#many.remove(id);
    this.#few?.remove(id);
  }
}
