import type { ModelFacts } from "../protocol/config.ts";
import type { EmbeddingRequest } from "../protocol/embedding.ts";
import type { FromEngine } from "../protocol/messages.ts";
import type { EngineRequest } from "../protocol/request.ts";
import { noGeneration, RequestRefusal } from "../protocol/request-refusal.ts";
import type { TokenQuestion } from "../protocol/tokenize.ts";
import { ObjectiveWatch } from "./cost/objectives.ts";
import { planLimits } from "./cost/step-caps.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { openEmbedder } from "./embedding/open-embedder.ts";
import { factsOf } from "./facts.ts";
import type { LoadedModel, ModelParts } from "./loaded-model.ts";
import type { EmbeddingPlan } from "./native/embedding-plan.ts";
import { WorkLoop } from "./step/work-loop.ts";
import { TokenQuestions } from "./text/token-questions.ts";
import { Tokenizer } from "./text/tokenizer.ts";
import { idleGpu, unusedTemplate } from "./warnings.ts";

/** A loaded model that only embeds, or ranks. */
export class EmbeddingEngine implements LoadedModel {
  readonly facts: ModelFacts;
  readonly warnings: readonly string[];
  readonly status = null;
  readonly #embedder: Embedder;
  readonly #loop: WorkLoop;
  readonly #questions: TokenQuestions;
  readonly #post: (message: FromEngine) => void;

  /** @throws Error when there is no memory to embed with */
  constructor({ library, model, adapters, config, memory, threads, post }: ModelParts, plan: EmbeddingPlan | null) {
    if (plan === null) throw new Error("There is no memory for embeddings beside the weights: lower --context.");
    const now = () => performance.now();
    this.#post = post;
    const { vocabulary } = model;
    const tokenizer = new Tokenizer(vocabulary);
    // Texts and tokens are of its vocabulary; it has no prompts.
    const prompt = async () => {
      throw new RequestRefusal(noGeneration(config.model));
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

    this.warnings = [unusedTemplate(config), idleGpu(library)].filter((warning) => warning !== null);
    const { context } = plan;
    const cells = plan.whole ? 0 : plan.cells;
    this.facts = factsOf(
      library,
      model,
      config,
      { kv: "unified", context, cells, ids: 0 },
      {
        ...{ threads, objectives, calibration: null, parkBytes: 0, template: null },
        cacheBytes: cells * memory.cellBytes,
        embedding: this.#embedder.facts,
      },
    );
  }

  run(): Promise<never> {
    return this.#loop.run();
  }

  /** The server sends no such request for a model that only embeds. */
  async submit({ id }: EngineRequest): Promise<void> {
    this.#post({ type: "refused", id, error: noGeneration(this.facts.model) });
  }

  embed(request: EmbeddingRequest): Promise<void> {
    return this.#embedder.submit(request);
  }

  tokenize(id: number, question: TokenQuestion): Promise<void> {
    return this.#questions.answer(id, question);
  }

  cancel(id: number): void {
    this.#questions.cancel(id);
    this.#embedder.cancel(id);
  }

  afterIteration(then: () => void): void {
    this.#loop.afterIteration(then);
  }
}
