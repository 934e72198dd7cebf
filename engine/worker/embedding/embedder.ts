import type { EmbeddingFacts } from "../../protocol/config.ts";
import type { EmbeddingRequest, PieceMessage } from "../../protocol/embedding.ts";
import type { EngineError, FromEngine } from "../../protocol/messages.ts";
import type { Tier } from "../../protocol/request.ts";
import { TIERS } from "../../protocol/request.ts";
import { costShares, timeShares, type WorkPart } from "../cost/cost-attribution.ts";
import { StepModel } from "../cost/step-model.ts";
import type { DecodeBatch } from "../native/decode-batch.ts";
import type { EmbeddingContext } from "../native/embedding-context.ts";
import type { EmbeddingContextPair } from "../native/embedding-context-pair.ts";
import { type EmbeddingPlan, MOST_INPUTS } from "../native/embedding-plan.ts";
import { cheapestMs, type EmbeddingBatchEntry, planEmbeddingBatch } from "./embedding-batch.ts";
import { type ActiveRequest, activeRequest, QueuedInput } from "./embedding-request.ts";
import { FairInputQueue } from "./fair-input-queue.ts";
import type { InputTokenizer } from "./input-tokenizer.ts";
import type { WorkClass } from "./step-sharing.ts";

type Contexts = Pick<EmbeddingContextPair, "remove"> & {
  for(tokens: number, complete: boolean): BatchContext;
};
type BatchContext = Pick<EmbeddingContext, "decode" | "pooled"> & { batch: Pick<DecodeBatch, "clear" | "add"> };

export interface EmbedderParts {
  plan: EmbeddingPlan;
  inputs: Pick<InputTokenizer, "ofAll">;
  /** Allocates the contexts; called once, for the first input. Throws when memory is short. */
  open: () => Contexts;
  /** Milliseconds, monotonic. */
  now: () => number;
  post: (message: FromEngine) => void;
  /** An input waits. */
  wake: () => void;
}

/** Inputs of one embedding batch at most: one of each tier may stay partly computed beside them. */
const MOST_BEGUN = MOST_INPUTS - TIERS.length;
const ONLINE: readonly Tier[] = ["priority", "default"];

/**
 * Computes vectors of texts, in embedding batches between the steps of generations. Inputs wait in the order of their tiers,
 * of a fair queue over owners, and of arrival. One batch takes as many as fit, of any requests. The cost of a batch is
 * fitted as that of steps is.
 */
export class Embedder {
  readonly facts: EmbeddingFacts;
  readonly #parts: EmbedderParts;
  readonly #requests = new Map<number, ActiveRequest>();
  readonly #queues: Record<Tier, FairInputQueue> = {
    priority: new FairInputQueue(),
    default: new FairInputQueue(),
    flex: new FairInputQueue(),
    batch: new FairInputQueue(),
  };
  readonly #costs = new StepModel();
  readonly #sequenceIds = Array.from({ length: MOST_INPUTS }, (_, id) => id);
  /** The inputs that have cells: those of the batch that runs, and at most one partly computed input of each tier. */
  readonly #holding = new Set<QueuedInput>();
  #contexts: Contexts | null = null;

  constructor(parts: EmbedderParts) {
    this.#parts = parts;
    const { pooling, width, context } = parts.plan;
    this.facts = { pooling, width, context };
  }

  /** The highest class of the waiting inputs. */
  get workClass(): WorkClass {
    if (ONLINE.some((tier) => !this.#queues[tier].empty)) return "online";
    return TIERS.some((tier) => !this.#queues[tier].empty) ? "lower" : "nothing";
  }

  /** Predicted milliseconds of the smallest batch that makes progress; 0 when no input waits. */
  get cheapestMs(): number {
    const [first] = this.#waiting();
    return first === undefined ? 0 : cheapestMs(first, { whole: this.#parts.plan.whole, costs: this.#costs });
  }

  async submit(submitted: EmbeddingRequest): Promise<void> {
    const { inputs, plan, post, wake } = this.#parts;
    const { id, tier } = submitted;
    const request = activeRequest(submitted);
    this.#requests.set(id, request);
    const isWanted = () => !request.cancelled;
    const lists = await inputs.ofAll(submitted.inputs, { tier, isWanted }, submitted.truncate);
    if (lists === null || !isWanted()) return;
    if ("code" in lists) return this.#refuse(id, lists);
    const closed = this.#open();
    if (closed !== null) return this.#refuse(id, closed);
    const promptTokens = lists.reduce((sum, { length }) => sum + length, 0);
    post({ type: "accepted", id, promptTokens, promptText: null });
    for (const [index, tokens] of lists.entries())
      this.#queues[tier].push(new QueuedInput(request, index, tokens, plan.pooling));
    wake();
  }

  /** @returns whether the request exists and has no complete answer */
  cancel(id: number): boolean {
    const request = this.#requests.get(id);
    if (request === undefined) return false;
    request.cancelled = true;
    this.#requests.delete(id);
    // An input with cells may be in the decode that runs: the next batch removes it.
    this.#queues[request.tier].remove(request.owner, (input) => input.request === request && input.sequenceId < 0);
    return true;
  }

  /**
   * Computes one embedding batch that should take at most `ms`, and posts its vectors.
   *
   * @param beside whether online streams wait for its end
   * @returns the milliseconds that it took; 0 when no input waited
   * @throws DecodeError
   */
  async piece(ms: number, beside: boolean): Promise<number> {
    const contexts = this.#contexts;
    if (contexts === null) return 0;
    this.#removeCancelled(contexts);
    const { plan, now, post } = this.#parts;
    const online = this.workClass === "online";
    const { batchTokens: alone, whole } = plan;
    const together = beside ? plan.besideTokens : plan.togetherTokens;
    const limits = { alone, together, inputs: MOST_BEGUN, ms, whole, costs: this.#costs };
    const entries = planEmbeddingBatch(this.#waiting(), limits);
    if (entries.length === 0) return 0;
    this.#freeCells(contexts, entries);
    const begin = now();
    const tokens = entries.reduce((sum, { count }) => sum + count, 0);
    const complete = entries.every(({ input, count }) => count === input.tokens.length);
    const context = contexts.for(tokens, complete);
    this.#fill(context.batch, entries);
    const decoding = context.decode();
    const parts = entries.map((entry) => partOf(entry, tokens));
    const shares = costShares(parts, 1, this.#costs.fit);
    await decoding;
    const vectors: PieceMessage["vectors"] = [];
    for (const { input, count } of entries) {
      input.vector.add(context.pooled(input.sequenceId), count);
      input.computed += count;
      this.#queues[input.request.tier].charge(input.request.owner, count);
      if (input.computed < input.tokens.length) continue;
      this.#remove(contexts, input);
      if (input.request.cancelled) continue;
      vectors.push({ id: input.request.id, index: input.index, vector: input.vector.finish() });
      if (--input.request.missing === 0) this.#requests.delete(input.request.id);
    }
    const took = now() - begin;
    this.#costs.observe({ prefill: tokens, decode: 0, kv: 0, read: tokens * tokens, passes: 1 }, took);
    const stats = { ms: took, online, inputs: entries.length, tokens, shares: timeShares(shares, took) };
    post({ type: "piece", started: startedBy(entries), vectors, stats });
    return took;
  }

  /** The waiting inputs of online tiers, else those of lower tiers, in order: lower tiers do not lengthen a batch of online tiers. */
  *#waiting(): Generator<QueuedInput, void> {
    const online = this.workClass === "online";
    for (const tier of TIERS) if (ONLINE.includes(tier) === online) yield* this.#queues[tier];
  }

  #fill(batch: BatchContext["batch"], entries: EmbeddingBatchEntry<QueuedInput>[]): void {
    batch.clear();
    for (const { input, count } of entries) {
      if (input.sequenceId < 0) input.sequenceId = this.#sequenceIds.pop()!;
      this.#holding.add(input);
      for (let i = 0; i < count; i++) {
        const position = input.computed + i;
        batch.add(input.tokens[position]!, position, input.sequenceId, true);
      }
    }
  }

  /** Partly computed inputs of lower tiers start over when inputs of higher tiers need their cells. */
  #freeCells(contexts: Contexts, entries: EmbeddingBatchEntry<QueuedInput>[]): void {
    const planned = new Set(entries.map(({ input }) => input));
    const begun = TIERS.flatMap((tier) => [...this.#holding].filter(({ request }) => request.tier === tier));
    let cells = entries.reduce((sum, { count }) => sum + count, 0);
    for (const { computed } of begun) cells += computed;
    for (const input of begun.reverse()) {
      if (cells <= this.#parts.plan.cells) return;
      if (planned.has(input)) continue;
      cells -= input.computed;
      this.#release(contexts, input);
      input.startOver();
    }
  }

  /** Removes an input that is complete or cancelled, and frees its cells. */
  #remove(contexts: Contexts, input: QueuedInput): void {
    this.#queues[input.request.tier].delete(input);
    this.#release(contexts, input);
  }

  #release(contexts: Contexts, input: QueuedInput): void {
    if (input.sequenceId < 0) return;
    contexts.remove(input.sequenceId);
    this.#sequenceIds.push(input.sequenceId);
    this.#holding.delete(input);
    input.sequenceId = -1;
  }

  #removeCancelled(contexts: Contexts): void {
    for (const input of this.#holding) if (input.request.cancelled) this.#remove(contexts, input);
  }

  #refuse(id: number, error: EngineError): void {
    this.#requests.delete(id);
    this.#parts.post({ type: "refused", id, error });
  }

  #open(): EngineError | null {
    try {
      this.#contexts ??= this.#parts.open();
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { code: "embeddings_unavailable", param: null, message };
    }
  }
}

/** All tokens of a batch share its cells, so each attends over all of them. */
function partOf({ input, count }: EmbeddingBatchEntry<QueuedInput>, tokens: number): WorkPart {
  const { tier, endpoint } = input.request;
  return { tier, endpoint, prefill: count, decode: 0, kv: 0, read: count * tokens };
}

function startedBy(entries: EmbeddingBatchEntry<QueuedInput>[]): number[] {
  const started: number[] = [];
  for (const { input } of entries) {
    if (input.request.started || input.request.cancelled) continue;
    input.request.started = true;
    started.push(input.request.id);
  }
  return started;
}
