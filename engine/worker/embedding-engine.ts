import { availableParallelism } from "node:os";
import type { EngineConfig, ModelFacts } from "../protocol/config.ts";
import type { EmbeddingRequest } from "../protocol/embedding.ts";
import type { EngineError, FromEngine } from "../protocol/messages.ts";
import { RequestRefusal } from "../protocol/refusal.ts";
import type { EngineRequest } from "../protocol/request.ts";
import type { TokenQuestion } from "../protocol/tokenize.ts";
import { ObjectiveWatch } from "./cost/objectives.ts";
import { planLimits } from "./cost/step-caps.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { openEmbedder } from "./embedding/open-embedder.ts";
import { factsOf } from "./facts.ts";
import type { Adapters } from "./native/adapters.ts";
import type { EmbeddingPlan } from "./native/embedding-plan.ts";
import type { Library } from "./native/library/library.ts";
import type { MemoryFacts } from "./native/memory-plan.ts";
import type { Model } from "./native/model.ts";
import { WorkLoop } from "./step/work-loop.ts";
import { TokenQuestions } from "./text/tokenize-answer.ts";
import { Tokenizer } from "./text/tokenizer.ts";
import { idleGpu } from "./warnings.ts";

/** One loaded model that only embeds, or ranks. */
export class EmbeddingEngine {
  readonly facts: ModelFacts;
  readonly warnings: string[];
  readonly status = null;
  readonly #embedder: Embedder;
  readonly #loop: WorkLoop;
  readonly #post: (message: FromEngine) => void;
  readonly #questions: TokenQuestions;

  /** @throws Error when it has no memory to embed with */
  constructor(
    library: Library,
    model: Model,
    adapters: Adapters,
    config: EngineConfig,
    memory: MemoryFacts,
    plan: EmbeddingPlan | null,
    post: (message: FromEngine) => void,
  ) {
    if (plan === null) throw new Error("There is no memory for embeddings beside the weights: lower --context.");
    const threads = config.threads ?? Math.max(1, availableParallelism() - 1);
    const now = () => performance.now();
    this.#post = post;
    const { vocabulary } = model;
    const tokenizer = new Tokenizer(vocabulary);
    // Texts and tokens are its vocabulary's; it has no prompts.
    const prompt = async () => {
      throw new RequestRefusal(this.#noText());
    };
    this.#questions = new TokenQuestions({ vocabulary, tokenizer, prompt, post });
    const run = { threads, tokenizer, now, post, wake: () => this.#loop.wake() };
    this.#embedder = openEmbedder(library, model, adapters, config, plan, run);
    const { sloTtftMs, sloItlMs, sequences } = config;
    const asked = { ttftMs: sloTtftMs, itlMs: sloItlMs };
    const { ttftMs, itlMs } = new ObjectiveWatch(asked, { sequences, context: plan.context });
    const objectives = { ttftMs, itlMs };
    this.#loop = new WorkLoop({ steps: null, embedder: this.#embedder, limits: planLimits(config, objectives), now });
    library.quiet();
    this.warnings = [idleGpu(library)].filter((warning) => warning !== null);
    const { context } = plan;
    const cells = plan.whole ? 0 : plan.cells;
    const cacheBytes = cells * memory.cellBytes;
    const embedding = this.#embedder.facts;
    const found = {
      ...{ threads, cacheBytes, objectives },
      calibration: null,
      parkBytes: 0,
      fallback: false,
      toolFormat: "",
      embedding,
    };
    this.facts = factsOf(library, model, config, { kv: "unified", context, cells, ids: 0 }, found);
  }

  /** @throws DecodeError */
  run(): Promise<never> {
    return this.#loop.run();
  }

  /** The server asks no such model to generate; whoever does is told. */
  async submit({ id }: EngineRequest): Promise<void> {
    this.#post({ type: "refused", id, error: this.#noText() });
  }

  tokenize(id: number, question: TokenQuestion): Promise<void> {
    return this.#questions.answer(id, question);
  }

  embed(request: EmbeddingRequest): Promise<void> {
    return this.#embedder.submit(request);
  }

  /** Calls back when the piece that computes now has ended. */
  afterTurn(then: () => void): void {
    this.#loop.afterTurn(then);
  }

  cancel(id: number): void {
    this.#questions.cancel(id);
    this.#embedder.cancel(id);
  }

  #noText(): EngineError {
    const message = `The model '${this.facts.model}' does not generate text.`;
    return { code: "unsupported_model", param: "model", message };
  }
}
