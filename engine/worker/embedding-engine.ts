import { availableParallelism } from "node:os";
import type { EngineConfig, ModelFacts } from "../config.ts";
import type { EmbeddingRequest, EngineRequest, FromEngine } from "../protocol.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { openEmbedder } from "./embedding/open-embedder.ts";
import { factsOf } from "./facts.ts";
import type { EmbeddingPlan } from "./native/embedding-plan.ts";
import type { Library } from "./native/library.ts";
import type { MemoryFacts } from "./native/memory-plan.ts";
import type { Model } from "./native/model.ts";
import { WorkLoop } from "./work-loop.ts";

/** One loaded model that only embeds, or ranks. */
export class EmbeddingEngine {
  readonly facts: ModelFacts;
  readonly warnings: string[] = [];
  readonly status = null;
  readonly #embedder: Embedder;
  readonly #loop: WorkLoop;
  readonly #post: (message: FromEngine) => void;

  /** @throws Error when it has no memory to embed with */
  constructor(
    library: Library,
    model: Model,
    config: EngineConfig,
    memory: MemoryFacts,
    plan: EmbeddingPlan | null,
    post: (message: FromEngine) => void,
  ) {
    if (plan === null) throw new Error("There is no memory for embeddings beside the weights: lower --context.");
    const threads = config.threads ?? Math.max(1, availableParallelism() - 1);
    const now = () => performance.now();
    this.#post = post;
    this.#embedder = openEmbedder(library, model, config, plan, { threads, now, post, wake: () => this.#loop.wake() });
    const limits = { ...config, ttftMs: config.sloTtftMs, itlMs: config.sloItlMs };
    this.#loop = new WorkLoop({ steps: null, embedder: this.#embedder, limits, now });
    library.quiet();
    const { context } = plan;
    const cells = plan.whole ? 0 : plan.cells;
    const { cellBytes } = memory;
    const found = { threads, cellBytes, parkBytes: 0, fallback: false, embedding: this.#embedder.facts };
    this.facts = factsOf(library, model, config, { kv: "unified", context, cells, ids: 0 }, found);
  }

  /** @throws DecodeError */
  run(): Promise<never> {
    return this.#loop.run();
  }

  /** The server asks no such model to generate; whoever does is told. */
  async submit({ id }: EngineRequest): Promise<void> {
    const message = `The model '${this.facts.model}' does not generate text.`;
    const error = {
      status: 400,
      type: "invalid_request_error" as const,
      code: "unsupported_model",
      param: "model",
      message,
    };
    this.#post({ type: "refused", id, error });
  }

  embed(request: EmbeddingRequest): Promise<void> {
    return this.#embedder.submit(request);
  }

  cancel(id: number): void {
    this.#embedder.cancel(id);
  }
}
