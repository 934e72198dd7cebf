import { availableParallelism } from "node:os";
import { GbnfError } from "../../grammar/gbnf/gbnf.ts";
import { submitFailpoint } from "../../platform/engine-failpoint.ts";
import type { EngineConfig, ModelFacts } from "../protocol/config.ts";
import type { EmbeddingRequest } from "../protocol/embedding.ts";
import type { EngineError, FromEngine } from "../protocol/messages.ts";
import type { Prompt } from "../protocol/prompt.ts";
import { invalidGrammar, promptRefusal, RequestRefusal } from "../protocol/refusal.ts";
import type { EngineRequest } from "../protocol/request.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { StepMessage } from "../protocol/step.ts";
import type { TokenQuestion } from "../protocol/tokenize.ts";
import { type Calibration, calibrate } from "./calibration/calibrate.ts";
import { stepsOf } from "./calibration/kernels.ts";
import { ObjectiveWatch } from "./cost/objectives.ts";
import { planLimits } from "./cost/step-caps.ts";
import { StepModel } from "./cost/step-model.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { embeddingPlan, openEmbedder } from "./embedding/open-embedder.ts";
import { EmbeddingEngine } from "./embedding-engine.ts";
import { factsOf } from "./facts.ts";
import { VocabularyGrammars } from "./grammar/vocabulary-grammar.ts";
import { HostMemory } from "./kv/host-memory.ts";
import { makeCache } from "./kv/make-cache.ts";
import { freeMemory } from "./machine-memory.ts";
import { type Adapters, loadAdapters } from "./native/adapters.ts";
import { Context } from "./native/context.ts";
import type { EmbeddingPlan } from "./native/embedding-plan.ts";
import { type Library, loadLibrary } from "./native/library/library.ts";
import { cacheBytes, type MemoryPlan, planMemory, planParking } from "./native/memory-plan.ts";
import { loadModel, type Model } from "./native/model.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { type StatusParts, statusOf } from "./status.ts";
import type { EngineSequence } from "./step/sequence.ts";
import { SequenceFactory } from "./step/sequence-factory.ts";
import { StepLoop } from "./step/step-loop.ts";
import { ToolCallReader } from "./step/tool-call-reader.ts";
import { WorkLoop } from "./step/work-loop.ts";
import { PromptBuilder } from "./text/prompt-builder.ts";
import { Renderer } from "./text/renderer.ts";
import { ChatTemplate } from "./text/template/chat-template.ts";
import { TokenQuestions } from "./text/tokenize-answer.ts";
import type { TextOwner } from "./text/tokenize-queue.ts";
import { Tokenizer } from "./text/tokenizer.ts";
import { idleGpu, shortContext } from "./warnings.ts";

/** The share of sequences and cells that flex and batch leave free for online work. */
const RESERVED_SHARE = 1 / 8;

/** One loaded model at work. */
export class GeneratingEngine {
  readonly facts: ModelFacts;
  readonly warnings: string[];
  readonly #model: Model;
  readonly #prompts: PromptBuilder;
  readonly #questions: TokenQuestions;
  readonly #template: ChatTemplate;
  readonly #generations: SequenceFactory;
  readonly #steps: StepLoop;
  readonly #embedder: Embedder | null;
  readonly #loop: WorkLoop;
  readonly #statusParts: StatusParts;
  readonly #post: (message: FromEngine) => void;
  /** The requests that have not ended, with their sequences; none yet while a prompt is tokenized. */
  readonly #requests = new Map<number, EngineSequence[]>();
  #arrivals = 0;

  /** @throws Error that says why the model can't be served */
  static async load(
    config: EngineConfig,
    post: (message: FromEngine) => void,
  ): Promise<GeneratingEngine | EmbeddingEngine> {
    if (config.stepTokens <= config.sequences) {
      throw new Error(
        `A step of ${config.stepTokens} tokens has no room for a prompt beside ${config.sequences} sequences: ` +
          "raise --step-tokens or lower --sequences.",
      );
    }
    const library = loadLibrary(config.llamaDir, config.gpu !== "off");
    const free = freeMemory(library, config);
    const model = await loadModel(library, config, (progress) => post({ type: "loading", progress }));
    const adapters = await loadAdapters(library, model, config.adapters);
    const bare = model.memoryFacts(config, free.model);
    const facts = { ...bare, weightBytes: bare.weightBytes + adapters.bytes };
    if (model.pooling !== null) {
      const embedding = embeddingPlan(model, config, facts, 0);
      return new EmbeddingEngine(library, model, adapters, config, facts, embedding, post);
    }
    const plan = planMemory(config, facts);
    const taken = free.onGpu ? 0 : facts.weightBytes + cacheBytes(plan, facts);
    const parkBytes = planParking(config, facts, free.host - taken);
    const embedding = embeddingPlan(model, config, facts, cacheBytes(plan, facts));
    const threads = config.threads ?? Math.max(1, availableParallelism() - 1);
    const { cellBytes } = facts;
    const calibration = await calibrate({
      ...{ library, model, adapters, config, plan },
      ...{ threads, cellBytes, freeBytes: free.model },
    });
    return new GeneratingEngine(
      library,
      model,
      adapters,
      config,
      { ...plan, parkBytes, embedding, threads, calibration },
      post,
    );
  }

  private constructor(
    library: Library,
    model: Model,
    adapters: Adapters,
    config: EngineConfig,
    plan: MemoryPlan & {
      parkBytes: number;
      embedding: EmbeddingPlan | null;
      threads: number;
      calibration: Calibration;
    },
    post: (message: FromEngine) => void,
  ) {
    const { calibration, threads } = plan;
    const { vocabulary } = model;
    const attention = { ...config, flashAttention: calibration.flashAttention };
    const context = new Context(library, model, adapters, attention, plan, threads);
    const reuse = model.memory === "full";
    const memory = model.memoryFacts(config, 0);
    const { cellBytes } = memory;
    const reserved = Math.min(config.sequences - 1, Math.max(1, Math.floor(config.sequences * RESERVED_SHARE)));
    const reservedCells =
      plan.kv === "unified" ? Math.floor(plan.cells * RESERVED_SHARE) : reserved * context.sequenceCells;
    const stepModel = new StepModel(calibration.tile);
    stepModel.calibrate(stepsOf(calibration.samples, calibration.flash, calibration.tile));
    const { sequences } = config;
    const asked = { ttftMs: config.sloTtftMs, itlMs: config.sloItlMs };
    const objectives = new ObjectiveWatch(asked, { sequences, context: plan.context });
    if (calibration.samples.length > 0) objectives.review(stepModel);
    const now = () => performance.now();
    const host = new HostMemory({
      bytes: plan.parkBytes,
      tokenBytes: cellBytes,
      recomputeMs: (from, to) => recomputeMs(stepModel, from, to),
      now,
    });
    const cache = makeCache(context, host, plan, cellBytes, { reuse, reserved, reservedCells });
    library.quiet();

    this.#model = model;
    this.#post = post;
    this.#template = new ChatTemplate(
      model.chatTemplate,
      {
        bos: vocabulary.text(vocabulary.bos),
        eos: vocabulary.text(vocabulary.eos),
        specialTokens: vocabulary.specialTexts,
        hasToken: (text) => vocabulary.isToken(text),
      },
      config.toolFormat,
    );
    const tags = this.#template.reasoningTags;
    if (tags !== null) vocabulary.show([tags.openToken ?? tags.open, tags.close]);
    // After show(), which gives tokens a text.
    const grammars = new VocabularyGrammars(vocabulary);
    const wake = () => this.#loop.wake();
    this.#generations = new SequenceFactory({
      library,
      vocabulary,
      template: this.#template,
      grammars,
      calls: new ToolCallReader(this.#template.toolFormat, vocabulary, grammars),
      context: plan.context,
      cacheScope: config.cacheScope,
      reasoningBudget: config.reasoningBudget,
      wake,
    });
    const tokenizer = new Tokenizer(vocabulary);
    this.#prompts = new PromptBuilder({
      vocabulary,
      tokenizer,
      template: this.#template,
      renderer: new Renderer({ template: this.#template, context: plan.context }),
      context: plan.context,
      now: () => new Date(),
    });
    const promptTokens = (prompt: Prompt, owner: TextOwner) => this.#promptTokens(prompt, owner);
    this.#questions = new TokenQuestions({ vocabulary, tokenizer, prompt: promptTokens, post });
    const options = Object.assign(planLimits(config, objectives), { sequences, reserved, reuse });
    const scheduler = new Scheduler<EngineSequence>(cache, options, stepModel);
    this.#statusParts = {
      cache,
      scheduler,
      stepModel,
      options,
      context: plan.context,
      reservedCells,
    };
    this.#steps = new StepLoop({
      context,
      vocabulary,
      cache,
      scheduler,
      stepModel,
      objectives,
      now,
      post: (message) => this.#tell(message),
      fail: (generation, error) => this.#fail(generation.request.id, error),
      wake,
    });
    const run = { threads, tokenizer, now, post, wake };
    const { embedding } = plan;
    this.#embedder = embedding === null ? null : openEmbedder(library, model, adapters, config, embedding, run);
    this.#loop = new WorkLoop({ steps: this.#steps, embedder: this.#embedder, limits: options, now });
    this.warnings = [this.#template.warning, shortContext(config, model, plan), idleGpu(library)].filter(
      (warning) => warning !== null,
    );
    this.facts = factsOf(library, model, config, plan, {
      threads,
      cacheBytes: cacheBytes(plan, memory),
      calibration,
      objectives: { ttftMs: objectives.ttftMs, itlMs: objectives.itlMs },
      parkBytes: plan.parkBytes,
      fallback: this.#template.fallback,
      toolFormat: this.#template.toolFormat.name,
      embedding: this.#embedder?.facts ?? null,
    });
  }

  get status(): EngineStatus {
    return statusOf(this.#statusParts);
  }

  /** @throws DecodeError */
  run(): Promise<never> {
    return this.#loop.run();
  }

  async submit(request: EngineRequest): Promise<void> {
    const arrival = this.#arrivals++;
    this.#requests.set(request.id, []);
    try {
      const isWanted = () => this.#requests.has(request.id);
      const owner = { tier: request.tier, isWanted };
      const prompt = await this.#prompts.build(request.prompt, owner);
      if (prompt === null || !isWanted()) return;
      const { tokens } = prompt;
      const refusal = this.#refusal(tokens, request.prompt.kind);
      if (refusal !== null) return this.#refuse(request.id, refusal);
      await this.#generations.prepareGrammar(request, owner);
      if (!isWanted()) return;
      const promptText = request.echo ? this.#echo(request, tokens) : null;
      this.#post({ type: "accepted", id: request.id, promptTokens: tokens.length, promptText });
      submitFailpoint(request.prompt);
      const generations = this.#generations.make(request, prompt, arrival);
      this.#requests.set(request.id, generations);
      for (const generation of generations) this.#steps.add(generation);
    } catch (error) {
      if (error instanceof RequestRefusal) this.#refuse(request.id, error.error);
      else if (error instanceof GbnfError) this.#refuse(request.id, invalidGrammar(error.message));
      else throw error;
    }
  }

  tokenize(id: number, question: TokenQuestion): Promise<void> {
    return this.#questions.answer(id, question);
  }

  async embed(request: EmbeddingRequest): Promise<void> {
    if (this.#embedder !== null) return this.#embedder.submit(request);
    const message =
      "There is no memory for embeddings beside the weights and the cache: lower --context or --sequences.";
    this.#refuse(request.id, { code: "unsupported_model", param: "model", message });
  }

  /** Calls back when the step or piece that computes now has ended. */
  afterTurn(then: () => void): void {
    this.#loop.afterTurn(then);
  }

  cancel(id: number): void {
    for (const generation of this.#requests.get(id) ?? []) this.#steps.cancel(generation);
    this.#requests.delete(id);
    this.#questions.cancel(id);
    this.#embedder?.cancel(id);
  }

  /** @throws RequestRefusal where a request with this prompt would be refused */
  async #promptTokens(prompt: Prompt, owner: TextOwner): Promise<number[] | null> {
    const built = await this.#prompts.build(prompt, owner);
    const refusal = built === null ? null : this.#refusal(built.tokens, prompt.kind);
    if (refusal !== null) throw new RequestRefusal(refusal);
    return built?.tokens ?? null;
  }

  /** Ends a request that can't go on. */
  #fail(id: number, error: EngineError): void {
    this.#post({ type: "refused", id, error });
    this.cancel(id);
  }

  /** Posts a step, and forgets the requests whose last sequence ended with it. */
  #tell(message: StepMessage): void {
    for (const { id, finish } of message.outputs) {
      if (finish === null) continue;
      if (this.#requests.get(id)?.every((generation) => generation.finished)) this.#requests.delete(id);
    }
    this.#post(message);
  }

  #refusal(tokens: readonly number[], kind: Prompt["kind"]): EngineError | null {
    return promptRefusal(tokens, kind, this.facts.context, this.#model.vocabulary.size);
  }

  #refuse(id: number, error: EngineError): void {
    this.#requests.delete(id);
    this.#post({ type: "refused", id, error });
  }

  #echo(request: EngineRequest, tokens: number[]): string {
    return request.prompt.kind === "text" ? request.prompt.text : this.#prompts.text(tokens);
  }
}

/** What it would take to compute tokens of a prompt again, alone. */
function recomputeMs(stepModel: StepModel, from: number, to: number): number {
  const count = to - from;
  return stepModel.predict({
    prefill: count,
    decode: 0,
    kv: 0,
    read: count * from + (count * (count + 1)) / 2,
    passes: 1,
  });
}
