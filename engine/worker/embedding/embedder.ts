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
import { cheapestMs, type PieceEntry, planPiece } from "./embedding-batch.ts";
import { InputReading, newReading, type Reading } from "./embedding-request.ts";
import { FairInputQueue } from "./fair-input-queue.ts";
import type { InputTokenizer } from "./input-tokenizer.ts";
import type { Want } from "./step-sharing.ts";

type Contexts = Pick<EmbeddingContextPair, "remove"> & {
  for(tokens: number, complete: boolean): PieceContext;
};
type PieceContext = Pick<EmbeddingContext, "decode" | "pooled"> & { batch: Pick<DecodeBatch, "clear" | "add"> };

export interface EmbedderParts {
  plan: EmbeddingPlan;
  inputs: Pick<InputTokenizer, "ofAll">;
  /** Called once, when the first input comes: it allocates. Throws when memory is short. */
  open: () => Contexts;
  /** Milliseconds, monotonic. */
  now: () => number;
  post: (message: FromEngine) => void;
  /** There is something to do. */
  wake: () => void;
}

/** Inputs of one piece: of every other tier one may be left half computed. */
const MOST_BEGUN = MOST_INPUTS - TIERS.length;
const ONLINE: readonly Tier[] = ["priority", "default"];

/**
 * Makes vectors of texts, piece by piece between the steps of generations. Inputs wait in the order of their tiers, of
 * turns between owners and of arrival; one piece takes as many as fit, of whatever requests. What a piece of theirs costs
 * is learnt as with steps.
 */
export class Embedder {
  readonly facts: EmbeddingFacts;
  readonly #parts: EmbedderParts;
  readonly #readings = new Map<number, Reading>();
  readonly #queues: Record<Tier, FairInputQueue> = {
    priority: new FairInputQueue(),
    default: new FairInputQueue(),
    flex: new FairInputQueue(),
    batch: new FairInputQueue(),
  };
  readonly #costs = new StepModel();
  readonly #places = Array.from({ length: MOST_INPUTS }, (_, place) => place);
  /** The inputs that have cells: those of the piece that runs, and of every tier one at most that is left unfinished. */
  readonly #holding = new Set<InputReading>();
  #contexts: Contexts | null = null;

  constructor(parts: EmbedderParts) {
    this.#parts = parts;
    const { pooling, width, context } = parts.plan;
    this.facts = { pooling, width, context };
  }

  /** What waits, by the best of it. */
  get want(): Want {
    if (ONLINE.some((tier) => !this.#queues[tier].empty)) return "online";
    return TIERS.some((tier) => !this.#queues[tier].empty) ? "lower" : "nothing";
  }

  /** Milliseconds of the smallest piece that makes progress; 0 when nothing waits. */
  get cheapestMs(): number {
    const [first] = this.#waiting();
    return first === undefined ? 0 : cheapestMs(first, { whole: this.#parts.plan.whole, costs: this.#costs });
  }

  async submit(request: EmbeddingRequest): Promise<void> {
    const { inputs, plan, post, wake } = this.#parts;
    const reading = newReading(request);
    this.#readings.set(request.id, reading);
    const isWanted = () => !reading.cancelled;
    const lists = await inputs.ofAll(request.inputs, { tier: request.tier, isWanted });
    if (lists === null || !isWanted()) return;
    if ("code" in lists) return this.#refuse(request.id, lists);
    const closed = this.#open();
    if (closed !== null) return this.#refuse(request.id, closed);
    const promptTokens = lists.reduce((sum, { length }) => sum + length, 0);
    post({ type: "accepted", id: request.id, promptTokens, promptText: null });
    for (const [index, tokens] of lists.entries())
      this.#queues[request.tier].push(new InputReading(reading, index, tokens, plan.pooling));
    wake();
  }

  /** @returns whether there was such a request, not yet answered */
  cancel(id: number): boolean {
    const reading = this.#readings.get(id);
    if (reading === undefined) return false;
    reading.cancelled = true;
    this.#readings.delete(id);
    // What holds cells may be in the decode that runs: the next piece forgets it.
    this.#queues[reading.tier].remove(reading.owner, (input) => input.reading === reading && input.place < 0);
    return true;
  }

  /**
   * Computes one piece that should take at most `ms`, and posts its vectors.
   *
   * @param beside whether streams wait for its end
   * @returns what it took, in milliseconds; 0 when nothing was left to do
   * @throws DecodeError
   */
  async piece(ms: number, beside: boolean): Promise<number> {
    const contexts = this.#contexts;
    if (contexts === null) return 0;
    this.#forgetCancelled(contexts);
    const { plan, now, post } = this.#parts;
    const online = this.want === "online";
    const { batchTokens: alone, whole } = plan;
    const together = beside ? plan.besideTokens : plan.togetherTokens;
    const limits = { alone, together, inputs: MOST_BEGUN, ms, whole, costs: this.#costs };
    const entries = planPiece(this.#waiting(), limits);
    if (entries.length === 0) return 0;
    this.#makeRoom(contexts, entries);
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
      input.vector.add(context.pooled(input.place), count);
      input.computed += count;
      this.#queues[input.reading.tier].charge(input.reading.owner, count);
      if (input.computed < input.tokens.length) continue;
      this.#leave(contexts, input);
      if (input.reading.cancelled) continue;
      vectors.push({ id: input.reading.id, index: input.index, vector: input.vector.finish() });
      if (--input.reading.missing === 0) this.#readings.delete(input.reading.id);
    }
    const took = now() - begin;
    this.#costs.observe({ prefill: tokens, decode: 0, kv: 0, read: tokens * tokens, passes: 1 }, took);
    const stats = { ms: took, online, inputs: entries.length, tokens, shares: timeShares(shares, took) };
    post({ type: "piece", started: startedBy(entries), vectors, stats });
    return took;
  }

  /** Those of the best standing that wait, in order: one piece is not made longer for whom nobody waits. */
  *#waiting(): Generator<InputReading, void> {
    const online = this.want === "online";
    for (const tier of TIERS) if (ONLINE.includes(tier) === online) yield* this.#queues[tier];
  }

  #fill(batch: PieceContext["batch"], entries: PieceEntry<InputReading>[]): void {
    batch.clear();
    for (const { input, count } of entries) {
      if (input.place < 0) input.place = this.#places.pop()!;
      this.#holding.add(input);
      for (let i = 0; i < count; i++) {
        const position = input.computed + i;
        batch.add(input.tokens[position]!, position, input.place, true);
      }
    }
  }

  /** Inputs of lower tiers that are left half computed begin again when those of better ones need the cells. */
  #makeRoom(contexts: Contexts, entries: PieceEntry<InputReading>[]): void {
    const planned = new Set(entries.map(({ input }) => input));
    const begun = TIERS.flatMap((tier) => [...this.#holding].filter(({ reading }) => reading.tier === tier));
    let cells = entries.reduce((sum, { count }) => sum + count, 0);
    for (const { computed } of begun) cells += computed;
    for (const input of begun.reverse()) {
      if (cells <= this.#parts.plan.cells) return;
      if (planned.has(input)) continue;
      cells -= input.computed;
      this.#giveBack(contexts, input);
      input.startOver();
    }
  }

  /** An input that has its vector, or that nobody wants, gives back what it holds. */
  #leave(contexts: Contexts, input: InputReading): void {
    this.#queues[input.reading.tier].delete(input);
    this.#giveBack(contexts, input);
  }

  #giveBack(contexts: Contexts, input: InputReading): void {
    if (input.place < 0) return;
    contexts.remove(input.place);
    this.#places.push(input.place);
    this.#holding.delete(input);
    input.place = -1;
  }

  #forgetCancelled(contexts: Contexts): void {
    for (const input of this.#holding) if (input.reading.cancelled) this.#leave(contexts, input);
  }

  #refuse(id: number, error: EngineError): void {
    this.#readings.delete(id);
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

/** All tokens of a piece share its cells, so each attends over all of them. */
function partOf({ input, count }: PieceEntry<InputReading>, tokens: number): WorkPart {
  const { tier, endpoint } = input.reading;
  return { tier, endpoint, prefill: count, decode: 0, kv: 0, read: count * tokens };
}

function startedBy(entries: PieceEntry<InputReading>[]): number[] {
  const started: number[] = [];
  for (const { input } of entries) {
    if (input.reading.started || input.reading.cancelled) continue;
    input.reading.started = true;
    started.push(input.reading.id);
  }
  return started;
}
