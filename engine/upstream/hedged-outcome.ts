import type { HedgeResult, Hedging } from "./replica/hedging.ts";
import type { Visit } from "./replica/replica.ts";
import { type VisitOutcome, type VisitParts, visitOutcome } from "./visit-outcome.ts";

/** The part of a generation in hedging. */
export interface HedgeTerms {
  /** Estimated. */
  promptTokens: number;
  /** True where a second attempt may be made while the first has shown nothing. */
  mayHedge: boolean;
}

export interface HedgeParts extends VisitParts {
  /** Estimated tokens of prompt and answer. */
  tokens: number;
  /** Its choices or inputs. */
  sequences: number;
  /** Of the prompt, as prefix-blocks.ts has them. */
  blocks: readonly number[];
  /** Null for a request that is neither hedged nor measured. */
  hedge: HedgeTerms | null;
}

/**
 * As visitOutcome, with a second attempt at another replica where the first has shown nothing for long. The attempt with the first
 * content claims the request, and the other one is taken back. Where one fails before, the other goes on alone. Resolves
 * with the outcome of the last that was not taken back; both visits are left before.
 */
export function hedgedOutcome(first: Visit, parts: HedgeParts): Promise<VisitOutcome> {
  const { hedge } = parts;
  const { hedging } = parts.access;
  return hedging === null || hedge === null
    ? visitOutcome(first, parts)
    : new HedgedAttempt(first, parts, hedge, hedging).run();
}

class HedgedAttempt {
  readonly #first: Visit;
  readonly #parts: HedgeParts;
  readonly #terms: HedgeTerms;
  readonly #hedging: Hedging;
  readonly #sentAt: number;
  /** The attempts; a second one may be added while the first is awaited. */
  readonly #running: Promise<void>[] = [];
  #timer: NodeJS.Timeout | undefined;
  #second: Visit | null = null;
  #result: HedgeResult = "neither";
  /** Of the last attempt that was not taken back. */
  #outcome: VisitOutcome | null = null;
  #thrown: unknown = null;

  constructor(first: Visit, parts: HedgeParts, terms: HedgeTerms, hedging: Hedging) {
    this.#first = first;
    this.#parts = parts;
    this.#terms = terms;
    this.#hedging = hedging;
    this.#sentAt = parts.access.clock.now();
  }

  async run(): Promise<VisitOutcome> {
    const { mayHedge, promptTokens } = this.#terms;
    const delayMs = mayHedge ? this.#hedging.delayMs(promptTokens) : null;
    if (delayMs !== null) this.#timer = setTimeout(() => this.#hedge(), delayMs);
    this.#running.push(this.#run(this.#first));
    for (const attempt of this.#running) {
      await attempt;
      clearTimeout(this.#timer);
    }
    if (this.#second !== null) this.#parts.access.hedged(this.#result);
    if (this.#outcome === null) throw this.#thrown;
    return this.#outcome;
  }

  #hedge(): void {
    const { access, signal } = this.#parts;
    if (signal.aborted || !this.#hedging.free) return;
    this.#second = access.gate.enterBeside(this.#first.replica, this.#parts);
    if (this.#second === null) return;
    this.#hedging.take();
    this.#running.push(this.#run(this.#second));
  }

  /** Never rejects. */
  async #run(visit: Visit): Promise<void> {
    visit.onClaim = () => this.#claimed(visit);
    try {
      const outcome = await visitOutcome(visit, this.#parts);
      if (outcome.kind !== "outrun") this.#outcome = outcome;
    } catch (error) {
      this.#thrown = error;
      this.#outcome = null;
      this.#takeBackOther(visit);
    }
  }

  #claimed(visit: Visit): void {
    clearTimeout(this.#timer);
    this.#result = visit === this.#first ? "first" : "second";
    this.#hedging.begun(this.#terms.promptTokens, this.#parts.access.clock.now() - this.#sentAt);
    this.#takeBackOther(visit);
  }

  /** It has no answer: all that it used of the rate is its prompt. */
  #takeBackOther(visit: Visit): void {
    const other = visit === this.#first ? this.#second : this.#first;
    if (other?.outrun()) other.rate?.settle(this.#terms.promptTokens);
  }
}
