import { type Forecast, NO_TILE, type StepCosts, type StepShape, type Tile } from "../cost/step-model.ts";
import type { Attended } from "../kv/kv-cache.ts";
import { MOST_SCORED } from "../native/sampling/scored-rows.ts";
import { DecodePasses, type Passes } from "./decode-passes.ts";
import { chunkable, isDecode, type Sequence } from "./scheduled-sequence.ts";
import { isOnline } from "./tiers.ts";

export interface PlanEntry<S extends Sequence> {
  sequence: S;
  /** Its remaining tokens that this step computes. */
  count: number;
  /** The positions over which these attend, as in a StepShape. */
  kv: number;
  read: number;
}

/** Tokens of a sequence that may have a row of logits in one step. */
export function mostRows(sequence: Sequence): number {
  return sequence.scored && !isDecode(sequence) ? MOST_SCORED : Number.POSITIVE_INFINITY;
}

/** A step that is being planned, and its predicted cost so far. */
export class StepDraft<S extends Sequence> {
  readonly entries: PlanEntry<S>[] = [];
  tokens = 0;
  /** Rows of prompt tokens whose logits are wanted. */
  #scored = 0;
  readonly #costs: StepCosts;
  readonly #attended: Attended;
  readonly #kind: Passes;
  readonly #passes: DecodePasses | null;
  #shape: StepShape = { prefill: 0, decode: 0, kv: 0, read: 0, passes: 1 };

  constructor(costs: StepCosts, attended: Attended, passes: Passes = "mixed") {
    this.#costs = costs;
    this.#attended = attended;
    this.#kind = passes;
    this.#passes = passes === "mixed" ? null : new DecodePasses(passes);
  }

  /** Whether the step has decodes or prompts, not both. */
  get ofOneKind(): boolean {
    return this.#kind !== "mixed";
  }

  get shape(): Readonly<StepShape> {
    return this.#shape;
  }

  /** Predicted milliseconds; 0 for an empty step. */
  get ms(): number {
    return this.entries.length === 0 ? 0 : this.#costs.predict(this.#shape);
  }

  get tile(): Tile {
    return this.#costs.tile ?? NO_TILE;
  }

  /** An empty step under the same step model. */
  another(): StepDraft<S> {
    return new StepDraft(this.#costs, this.#attended, this.#kind);
  }

  /** The rest of the step model's reach, in tokens. */
  get reach(): Pick<StepShape, "prefill" | "decode"> {
    const { prefill, decode } = this.#costs.reach;
    return { prefill: prefill - this.#shape.prefill, decode: decode - this.#shape.decode };
  }

  /** Tokens of a sequence that a step of at most `stepTokens` has room for, without regard to time. */
  capacityFor(sequence: S, stepTokens: number): number {
    return Math.min(chunkable(sequence), stepTokens - this.tokens, this.rowsFor(sequence));
  }

  /** Tokens of a sequence that may still have a row of logits; infinite where no rows of its prompt are wanted. */
  rowsFor(sequence: S): number {
    return mostRows(sequence) - this.#scored;
  }

  /** Predicted milliseconds with `count` tokens of one more sequence. */
  msWith(sequence: S, count: number): number {
    return this.#costs.predict(this.#with(sequence, count));
  }

  /** The most tokens of a sequence, up to `most`, with which the step stays within `ms`. */
  fitting(sequence: S, most: number, ms: number): number {
    const { rows } = this.tile;
    // A chunk that fills a tile exactly can cost less than one that is one token shorter.
    if (most >= rows && this.msWith(sequence, rows) <= ms) return this.#fittingFrom(rows, sequence, most, ms);
    return this.#fittingFrom(1, sequence, Math.min(most, Math.max(1, rows - 1)), ms);
  }

  /** The same with at least `least` tokens; between `least` and `most`, more tokens cost more. */
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
    const attended = this.#attended(sequence, count, this.tokens);
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
