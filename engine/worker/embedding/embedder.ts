import type { EmbeddingFacts } from "../../config.ts";
import type { EmbeddingRequest, PieceMessage } from "../../protocol/embedding.ts";
import type { EngineError, FromEngine } from "../../protocol/messages.ts";
import type { Tier } from "../../protocol/request.ts";
import { TIERS } from "../../protocol/request.ts";
import type { EmbeddingContext } from "../native/embedding-context.ts";
import { type EmbeddingPlan, MOST_INPUTS } from "../native/embedding-plan.ts";
import { StepModel } from "../scheduler/step-model.ts";
import { costShares, timeShares, type WorkPart } from "../scheduler/time-shares.ts";
import type { InputTokens } from "./input-tokens.ts";
import { cheapestMs, type PieceEntry, planPiece } from "./piece.ts";
import { InputReading, newReading, type Reading } from "./reading.ts";
import type { Want } from "./turns.ts";

export interface EmbedderParts {
  plan: EmbeddingPlan;
  inputs: InputTokens;
  /** Called once, when the first input comes: it allocates. Throws when memory is short. */
  open: () => EmbeddingContext;
  /** Milliseconds, monotonic. */
  now: () => number;
  post: (message: FromEngine) => void;
  /** There is something to do. */
  wake: () => void;
}

/** Inputs of one piece: of every other tier one may be left half computed. */
const MOST_BEGUN = MOST_INPUTS - TIERS.length;
/** OpenAI's bound on what one request may hold. */
const MOST_TOKENS = 300_000;
const ONLINE: readonly Tier[] = ["priority", "default"];

/**
 * Makes vectors of texts, piece by piece between the steps of generations. Inputs wait in the order of their tiers and of
 * arrival; one piece takes as many as fit, of whatever requests. What a piece of theirs costs is learnt as with steps.
 */
export class Embedder {
  readonly facts: EmbeddingFacts;
  readonly #parts: EmbedderParts;
  readonly #readings = new Map<number, Reading>();
  readonly #queues: Record<Tier, InputReading[]> = { priority: [], default: [], flex: [], batch: [] };
  readonly #costs = new StepModel();
  readonly #places = Array.from({ length: MOST_INPUTS }, (_, place) => place);
  #context: EmbeddingContext | null = null;

  constructor(parts: EmbedderParts) {
    this.#parts = parts;
    const { pooling, width, context } = parts.plan;
    this.facts = { pooling, width, context };
  }

  /** What waits, by the best of it. */
  get want(): Want {
    if (ONLINE.some((tier) => this.#queues[tier].length > 0)) return "online";
    return TIERS.some((tier) => this.#queues[tier].length > 0) ? "lower" : "nothing";
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
    const tokens = await Promise.all(request.inputs.map((input) => inputs.of(input)));
    if (reading.cancelled) return;
    const refusal = this.#refusal(request, tokens) ?? this.#open();
    if (refusal !== null) {
      this.#readings.delete(request.id);
      post({ type: "refused", id: request.id, error: refusal });
      return;
    }
    const promptTokens = tokens.reduce((sum, { length }) => sum + length, 0);
    post({ type: "accepted", id: request.id, promptTokens, promptText: null });
    for (const [index, list] of tokens.entries())
      this.#queues[request.tier].push(new InputReading(reading, index, Array.from(list), plan.pooling));
    wake();
  }

  cancel(id: number): void {
    const reading = this.#readings.get(id);
    if (reading === undefined) return;
    reading.cancelled = true;
    this.#readings.delete(id);
  }

  /**
   * Computes one piece that should take at most `ms`, and posts its vectors.
   *
   * @returns what it took, in milliseconds; 0 when nothing was left to do
   * @throws DecodeError
   */
  async piece(ms: number): Promise<number> {
    this.#forgetCancelled();
    const { plan, now, post } = this.#parts;
    const context = this.#context;
    const online = this.want === "online";
    const { batchTokens: alone, togetherTokens: together, whole } = plan;
    const limits = { alone, together, inputs: MOST_BEGUN, ms, whole, costs: this.#costs };
    const entries = planPiece(this.#waiting(), limits);
    if (context === null || entries.length === 0) return 0;
    this.#makeRoom(context, entries);
    const begin = now();
    const tokens = this.#fill(context, entries);
    const decoding = context.decode();
    const parts = entries.map((entry) => partOf(entry, tokens));
    const shares = costShares(parts, 1, this.#costs.fit);
    await decoding;
    const vectors: PieceMessage["vectors"] = [];
    for (const { input, count } of entries) {
      input.vector.add(context.pooled(input.place), count);
      input.computed += count;
      if (input.computed < input.tokens.length) continue;
      this.#leave(context, input);
      if (!input.reading.cancelled)
        vectors.push({ id: input.reading.id, index: input.index, vector: input.vector.finish() });
    }
    const took = now() - begin;
    this.#costs.observe({ prefill: tokens, decode: 0, kv: tokens * tokens, passes: 1 }, took);
    const stats = { ms: took, online, inputs: entries.length, tokens, shares: timeShares(shares, took) };
    post({ type: "piece", started: startedBy(entries), vectors, stats });
    return took;
  }

  /** Those of the best standing that wait, in order: one piece is not made longer for whom nobody waits. */
  *#waiting(): Generator<InputReading, void> {
    const online = this.want === "online";
    for (const tier of TIERS) if (ONLINE.includes(tier) === online) yield* this.#queues[tier];
  }

  #fill({ batch }: EmbeddingContext, entries: PieceEntry<InputReading>[]): number {
    batch.clear();
    for (const { input, count } of entries) {
      if (input.place < 0) input.place = this.#places.pop()!;
      for (let i = 0; i < count; i++) {
        const position = input.computed + i;
        batch.add(input.tokens[position]!, position, input.place, true);
      }
    }
    return batch.size;
  }

  /** Inputs of lower tiers that are left half computed begin again when those of better ones need the cells. */
  #makeRoom(context: EmbeddingContext, entries: PieceEntry<InputReading>[]): void {
    const planned = new Set(entries.map(({ input }) => input));
    const begun = TIERS.flatMap((tier) => this.#queues[tier].filter(({ computed }) => computed > 0));
    let cells = entries.reduce((sum, { count }) => sum + count, 0);
    for (const { computed } of begun) cells += computed;
    for (const input of begun.reverse()) {
      if (cells <= this.#parts.plan.cells) return;
      if (planned.has(input)) continue;
      cells -= input.computed;
      this.#giveBack(context, input);
      input.startOver();
    }
  }

  /** An input that has its vector, or that nobody wants, gives back what it holds. */
  #leave(context: EmbeddingContext, input: InputReading): void {
    const queue = this.#queues[input.reading.tier];
    const at = queue.indexOf(input);
    if (at >= 0) queue.splice(at, 1);
    this.#giveBack(context, input);
  }

  #giveBack(context: EmbeddingContext, input: InputReading): void {
    if (input.place < 0) return;
    context.remove(input.place);
    this.#places.push(input.place);
    input.place = -1;
  }

  #forgetCancelled(): void {
    for (const tier of TIERS)
      for (const input of this.#queues[tier].filter(({ reading }) => reading.cancelled))
        if (this.#context !== null) this.#leave(this.#context, input);
  }

  #open(): EngineError | null {
    try {
      this.#context ??= this.#parts.open();
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { status: 503, type: "server_error", code: "embeddings_unavailable", param: null, message };
    }
  }

  #refusal(request: EmbeddingRequest, tokens: readonly ArrayLike<number>[]): EngineError | null {
    const { context } = this.facts;
    const pairs = request.inputs[0]?.kind === "pair";
    const param = pairs ? "documents" : "input";
    const invalid = (code: string, message: string): EngineError => {
      return { status: 400, type: "invalid_request_error", code, param, message };
    };
    const named = (index: number) => (tokens.length > 1 || pairs ? `'${param}[${index}]'` : `'${param}'`);
    let sum = 0;
    for (const [index, { length }] of tokens.entries()) {
      sum += length;
      if (length === 0) return invalid("invalid_value", `Invalid ${named(index)}: it has no tokens.`);
      if (length <= context) continue;
      const message = `Invalid ${named(index)}: this model reads at most ${context} tokens of one input, and it has ${length}.`;
      return invalid("context_length_exceeded", message);
    }
    if (sum <= MOST_TOKENS) return null;
    return invalid("invalid_value", `Invalid '${param}': at most ${MOST_TOKENS} tokens in all, but got ${sum}.`);
  }
}

/** All tokens of a piece share its cells, so each attends over all of them. */
function partOf({ input, count }: PieceEntry<InputReading>, tokens: number): WorkPart {
  const { tier, endpoint } = input.reading;
  return { tier, endpoint, prefill: count, decode: 0, kv: count * tokens };
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
