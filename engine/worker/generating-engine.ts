import { GbnfError } from "../../grammar/gbnf/gbnf.ts";
import { submitFailpoint } from "../../platform/engine-failpoint.ts";
import type { ModelFacts } from "../protocol/config.ts";
import type { EmbeddingRequest } from "../protocol/embedding.ts";
import type { EngineError, FromEngine } from "../protocol/messages.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { EngineRequest } from "../protocol/request.ts";
import { invalidGrammar, noEmbeddingMemory, promptRefusal, RequestRefusal } from "../protocol/request-refusal.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { StepMessage } from "../protocol/step.ts";
import type { TokenQuestion } from "../protocol/tokenize.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { openEmbedder } from "./embedding/open-embedder.ts";
import { factsOf } from "./facts.ts";
import type { LoadedModel, ModelParts } from "./loaded-model.ts";
import { cacheBytes } from "./native/memory-plan.ts";
import { type GenerationPlan, openScheduling, type Scheduling } from "./open-scheduling.ts";
import { openText } from "./open-text.ts";
import { statusOf } from "./status.ts";
import type { EngineSequence } from "./step/sequence.ts";
import type { SequenceFactory } from "./step/sequence-factory.ts";
import { StepLoop } from "./step/step-loop.ts";
import { WorkLoop } from "./step/work-loop.ts";
import type { PromptBuilder } from "./text/prompt-builder.ts";
import { TokenQuestions } from "./text/token-questions.ts";
import type { TextOwner } from "./text/tokenize-queue.ts";
import { idleGpu, longContext, shortContext } from "./warnings.ts";

/** A loaded model that generates, and embeds where there is memory for it. */
export class GeneratingEngine implements LoadedModel {
  readonly facts: ModelFacts;
  readonly warnings: readonly string[];
  readonly #vocabularySize: number;
  readonly #context: number;
  readonly #prompts: PromptBuilder;
  readonly #sequences: SequenceFactory;
  readonly #scheduling: Scheduling;
  readonly #steps: StepLoop;
  readonly #embedder: Embedder | null;
  readonly #loop: WorkLoop;
  readonly #questions: TokenQuestions;
  readonly #post: (message: FromEngine) => void;
  /** The requests that have not ended, with their sequences; none yet while the prompt is tokenized. */
  readonly #requests = new Map<number, EngineSequence[]>();
  #arrivals = 0;

  constructor(parts: ModelParts, plan: GenerationPlan) {
    const { library, model, adapters, config, memory, threads, post } = parts;
    const { vocabulary } = model;
    const now = () => performance.now();
    const wake = () => this.#loop.wake();
    this.#post = post;
    this.#vocabularySize = vocabulary.size;
    this.#context = plan.context;

    const { template, tokenizer, prompts, sequences } = openText(parts, plan.context, wake);
    this.#prompts = prompts;
    this.#sequences = sequences;

    const openings = template.openings.map((text) => vocabulary.tokenizeNow(Buffer.from(text), { special: true }));
    const scheduling = openScheduling(parts, plan, now, Math.max(0, ...openings.map(({ length }) => length)));
    const { objectives, limits } = scheduling;
    this.#scheduling = scheduling;
    library.quiet();
    const prompt = (asked: Prompt, owner: TextOwner, anyLength: boolean) => this.#promptTokens(asked, owner, anyLength);
    this.#questions = new TokenQuestions({ vocabulary, tokenizer, prompt, post });

    this.#steps = new StepLoop({
      ...scheduling,
      vocabulary,
      now,
      post: (message) => this.#stepped(message),
      fail: (sequence, error) => this.#fail(sequence.request.id, error),
      wake,
    });
    const run = { threads, tokenizer, now, post, wake };
    this.#embedder =
      plan.embedding === null ? null : openEmbedder(library, model, adapters, config, plan.embedding, run);
    this.#loop = new WorkLoop({ steps: this.#steps, embedder: this.#embedder, limits, now });

    const aboutContext = [shortContext(config, model, plan), longContext(plan, model)];
    this.warnings = [...template.warnings, ...aboutContext, idleGpu(library)].filter((warning) => warning !== null);
    this.facts = factsOf(library, model, config, plan, {
      threads,
      cacheBytes: cacheBytes(plan, memory),
      calibration: plan.calibration,
      objectives: { ttftMs: objectives.ttftMs, itlMs: objectives.itlMs },
      parkBytes: plan.parkBytes,
      template,
      embedding: this.#embedder?.facts ?? null,
    });
  }

  get status(): EngineStatus {
    return statusOf(this.#scheduling, this.#context);
  }

  run(): Promise<never> {
    return this.#loop.run();
  }

  async submit(request: EngineRequest): Promise<void> {
    const { id } = request;
    const arrival = this.#arrivals++;
    this.#requests.set(id, []);
    try {
      const isWanted = () => this.#requests.has(id);
      const owner = { tier: request.tier, isWanted };
      const prompt = await this.#prompts.build(request.prompt, owner);
      if (prompt === null || !isWanted()) return;
      const { tokens } = prompt;
      const refusal = this.#refusal(tokens, request.prompt.kind);
      if (refusal !== null) return this.#refuse(id, refusal);
      await this.#sequences.prepareGrammar(request, owner);
      if (!isWanted()) return;
      const promptText = request.echo ? this.#echo(request, tokens) : null;
      this.#post({ type: "accepted", id, promptTokens: tokens.length, promptText });
      submitFailpoint(request.prompt);
      const sequences = this.#sequences.make(request, prompt, arrival);
      this.#requests.set(id, sequences);
      for (const sequence of sequences) this.#steps.add(sequence);
    } catch (error) {
      if (error instanceof RequestRefusal) this.#refuse(id, error.error);
      else if (error instanceof GbnfError) this.#refuse(id, invalidGrammar(error.message));
      else throw error;
    }
  }

  async embed(request: EmbeddingRequest): Promise<void> {
    if (this.#embedder === null) this.#refuse(request.id, noEmbeddingMemory());
    else await this.#embedder.submit(request);
  }

  tokenize(id: number, question: TokenQuestion): Promise<void> {
    return this.#questions.answer(id, question);
  }

  cancel(id: number): void {
    for (const sequence of this.#requests.get(id) ?? []) this.#steps.cancel(sequence);
    this.#requests.delete(id);
    this.#questions.cancel(id);
    this.#embedder?.cancel(id);
  }

  afterIteration(then: () => void): void {
    this.#loop.afterIteration(then);
  }

  /** @throws RequestRefusal where a request with this prompt would be refused */
  async #promptTokens(prompt: Prompt, owner: TextOwner, anyLength: boolean): Promise<number[] | null> {
    const built = await this.#prompts.build(prompt, owner);
    const refusal = built === null ? null : this.#refusal(built.tokens, prompt.kind);
    if (refusal !== null && !(anyLength && refusal.code === "context_length_exceeded"))
      throw new RequestRefusal(refusal);
    return built?.tokens ?? null;
  }

  /** Ends a request that can't go on. */
  #fail(id: number, error: EngineError): void {
    this.#post({ type: "refused", id, error });
    this.cancel(id);
  }

  /** Posts a step, and forgets the requests whose last sequence ended with it. */
  #stepped(message: StepMessage): void {
    for (const { id, finish } of message.outputs) {
      if (finish === null) continue;
      if (this.#requests.get(id)?.every((sequence) => sequence.finished)) this.#requests.delete(id);
    }
    this.#post(message);
  }

  #refusal(tokens: readonly number[], kind: Prompt["kind"]): EngineError | null {
    return promptRefusal(tokens, kind, this.#context, this.#vocabularySize);
  }

  #refuse(id: number, error: EngineError): void {
    this.#requests.delete(id);
    this.#post({ type: "refused", id, error });
  }

  #echo(request: EngineRequest, tokens: number[]): string {
    return request.prompt.kind === "text" ? request.prompt.text : this.#prompts.text(tokens);
  }
}
