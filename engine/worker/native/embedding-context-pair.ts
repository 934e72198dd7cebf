import type { EngineConfig } from "../../protocol/config.ts";
import type { Adapters } from "./adapters.ts";
import { EmbeddingContext } from "./embedding-context.ts";
import type { EmbeddingPlan } from "./embedding-plan.ts";
import type { Library } from "./library/library.ts";
import type { Model } from "./model.ts";

/** The contexts of embedding batches: a large one, and where that is faster a small one for batches of few tokens. */
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
   * The context for a batch of `tokens` tokens.
   *
   * @param complete whether all of its inputs begin and end in it: the cells of others are in the large context alone
   */
  for(tokens: number, complete: boolean): EmbeddingContext {
    return this.#few !== null && complete && tokens < this.#fewTokens ? this.#few : this.#many;
  }

  /** Frees the cells of an id. Never while a decode runs. */
  remove(id: number): void {
    this.#many.remove(id);
    this.#few?.remove(id);
  }
}
