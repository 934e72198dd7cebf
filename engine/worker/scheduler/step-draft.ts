import { type Forecast, NO_TILE, type StepCosts, type StepShape, type Tile } from "../cost/step-model.ts";
import { MOST_SCORED } from "../native/sampling/scored-rows.ts";
import { DecodePasses } from "./decode-passes.ts";
import { isDecode, isOnline, remaining, type Sequence } from "./scheduled-sequence.ts";

export interface PlanEntry<S extends Sequence> {
  sequence: S;
  /** How many of its remaining tokens this step computes. */
  count: number;
  /** The positions that these attend over, as in a StepShape. */
  kv: number;
  read: number;
}

/** Positions that `count` more tokens of a sequence attend over. */
export type Attended = (sequence: Sequence, count: number) => number;

/** A step that is being put together, and what it costs so far. */
export class StepDraft<S extends Sequence> {
  readonly entries: PlanEntry<S>[] = [];
  tokens = 0;
  #scored = 0;
  readonly #costs: StepCosts;
  readonly #attended: Attended;
  readonly #passes: DecodePasses | null;
  #shape: StepShape = { prefill: 0, decode: 0, kv: 0, read: 0, passes: 1 };

  /** @param split whether llama.cpp may take several passes for a step */
  constructor(costs: StepCosts, attended: Attended, split = false) {
    this.#costs = costs;
    this.#attended = attended;
    this.#passes = split ? new DecodePasses() : null;
  }

  get shape(): Readonly<StepShape> {
    return this.#shape;
  }

  /** Predicted milliseconds; an empty step costs nothing. */
  get ms(): number {
    return this.entries.length === 0 ? 0 : this.#costs.predict(this.#shape);
  }

  get tile(): Tile {
    return this.#costs.tile ?? NO_TILE;
  }

  /** An empty step under the same step model. */
  another(): StepDraft<S> {
    return new StepDraft(this.#costs, this.#attended, this.#passes !== null);
  }

  /** What is left of the step model's reach, in tokens. */
  get reach(): Pick<StepShape, "prefill" | "decode"> {
    const { prefill, decode } = this.#costs.reach;
    return { prefill: prefill - this.#shape.prefill, decode: decode - this.#shape.decode };
  }

  /** How many tokens of a sequence a step of at most `stepTokens` has room for, whatever they take. */
  room(sequence: S, stepTokens: number): number {
    return Math.min(remaining(sequence), stepTokens - this.tokens, this.rowsFor(sequence));
  }

  /** How many of its tokens may have a row of logits; infinity for whoever wants none of its prompt. */
  rowsFor(sequence: S): number {
    return sequence.scored && !isDecode(sequence) ? MOST_SCORED - this.#scored : Number.POSITIVE_INFINITY;
  }

  msWith(sequence: S, count: number): number {
    return this.#costs.predict(this.#with(sequence, count));
  }

  /** The most tokens of a sequence, up to `most`, with which the step stays within `ms`. */
  fitting(sequence: S, most: number, ms: number): number {
    const { rows } = this.tile;
    // A chunk that just fills a tile can cost less than one that is a token short of it.
    if (most >= rows && this.msWith(sequence, rows) <= ms) return this.#fittingFrom(rows, sequence, most, ms);
    return this.#fittingFrom(1, sequence, Math.min(most, Math.max(1, rows - 1)), ms);
  }

  /** The same of at least `least` tokens; up to `most` and from there on more tokens cost more. */
  #fittingFrom(least: number, sequence: S, most: number, ms: number): number {
    if (most < least || most <= 0) return 0;
    if (this.msWith(sequence, most) <= ms) return most;
    let fits = least - 1;
    let over = most;
    while (over - fits > 1) {
      const middle = (fits + over) >> 1;
      if (this.msWith(sequence, middle) <= ms) fits = middle;
      else over = middle;
    }
    return fits;
  }

  add(sequence: S, count: number): void {
    if (sequence.scored && !isDecode(sequence)) this.#scored += count;
    const { kv, read } = this.#shape;
    this.#shape = this.#with(sequence, count);
    this.#passes?.add(sequence, count);
    this.tokens += count;
    this.entries.push({ sequence, count, kv: this.#shape.kv - kv, read: this.#shape.read - read });
  }

  forecast(): Forecast {
    const online = this.another();
    for (const { sequence, count } of this.entries) if (isOnline(sequence)) online.add(sequence, count);
    return {
      shape: this.#shape,
      predictedMs: this.ms,
      onlineMs: online.ms,
      onlineTokens: online.tokens,
      lowerTokens: this.tokens - online.tokens,
    };
  }

  #with(sequence: S, count: number): StepShape {
    const { prefill, decode, kv, read } = this.#shape;
    const isNext = isDecode(sequence);
    const attended = this.#attended(sequence, count);
    const { rows, below } = this.tile;
    return {
      prefill: prefill + (isNext ? 0 : count),
      decode: decode + (isNext ? count : 0),
      kv: kv + (isNext ? attended : 0),
      read: read + (isNext ? 0 : attended * (count < rows ? below : 1)),
      passes: this.#passes?.with(sequence, count) ?? 1,
    };
  }
}
