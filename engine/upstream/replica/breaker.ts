import type { Clock } from "../../../platform/clock.ts";

/** Failures in a row that open the breaker, and the milliseconds within which they come; slower ones do no harm. */
const FAILURES = 5;
const WINDOW_MS = 60_000;
/** Milliseconds that it is open at first; each failed probe doubles them. */
const FIRST_OPEN_MS = 30_000;
const LONGEST_OPEN_MS = 300_000;
/** Probes that succeed in a row until it closes. */
const SUCCESSES = 2;

export type BreakerState = "closed" | "open" | "half-open";

/** The sign that a request is of its replica: `neutral` is one that its client cancelled, or that was refused as its own fault. */
export type Outcome = "success" | "failure" | "neutral";

/** A request's way through the breaker. */
export interface Passage {
  /** The request has ended; only the first call counts. */
  end(outcome: Outcome): void;
}

/**
 * Keeps requests from a replica that failed several times in a row.
 *
 * | state | requests | success | failure |
 * |---|---|---|---|
 * | closed | all | the row of failures begins anew | at 5 in a row within a minute: open for 30 s |
 * | open | none; the last replica of a model takes one at a time | at 2 in a row: closed | the row of successes begins anew |
 * | half-open: the time is over | one at a time | at 2 in a row: closed | open for twice the time, up to 5 minutes |
 *
 * An outcome counts only in the state in which its request began: what began before the breaker opened says nothing of the
 * replica since.
 */
export class Breaker {
  readonly #clock: Pick<Clock, "now">;
  /** Times of the failures in a row; FAILURES at most. */
  #failures: number[] = [];
  /** When half-open begins; null while closed. */
  #openUntil: number | null = null;
  #openMs = 0;
  #successes = 0;
  /** The one request of a breaker that is not closed. */
  #probe: Passage | null = null;
  /** Counts openings and closings. */
  #era = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  get state(): BreakerState {
    if (this.#openUntil === null) return "closed";
    return this.#clock.now() < this.#openUntil ? "open" : "half-open";
  }

  /** Milliseconds until it is half-open; 0 unless it is open. */
  get retryInMs(): number {
    return this.#openUntil === null ? 0 : Math.max(0, this.#openUntil - this.#clock.now());
  }

  /** True when `enter` would let a request through. */
  admits(lastReplica: boolean): boolean {
    const state = this.state;
    return state === "closed" || (this.#probe === null && (state === "half-open" || lastReplica));
  }

  /**
   * Null when no request may pass now.
   * @param lastReplica true when no other replica may take the request: it is then tried rather than refused
   */
  enter(lastReplica: boolean): Passage | null {
    if (!this.admits(lastReplica)) return null;
    const passage = this.#passage(this.#era);
    if (this.#openUntil !== null) this.#probe = passage;
    return passage;
  }

  #passage(era: number): Passage {
    let ended = false;
    const passage: Passage = {
      end: (outcome) => {
        if (ended) return;
        ended = true;
        if (this.#probe === passage) this.#probe = null;
        if (era === this.#era) this.#count(outcome);
      },
    };
    return passage;
  }

  #count(outcome: Outcome): void {
    if (outcome === "success") this.#succeeded();
    if (outcome === "failure") this.#failed();
  }

  #succeeded(): void {
    this.#failures = [];
    if (this.#openUntil === null || ++this.#successes < SUCCESSES) return;
    this.#openUntil = null;
    this.#openMs = 0;
    this.#era++;
  }

  #failed(): void {
    this.#successes = 0;
    const now = this.#clock.now();
    if (this.#openUntil !== null) {
      if (now >= this.#openUntil) this.#open(now);
      return;
    }
    this.#failures = [...this.#failures, now].slice(-FAILURES);
    if (this.#failures.length === FAILURES && now - this.#failures[0]! <= WINDOW_MS) this.#open(now);
  }

  /** A probe keeps its era: the next one follows it in the same row. */
  #open(now: number): void {
    if (this.#openUntil === null) this.#era++;
    this.#openMs = this.#openMs === 0 ? FIRST_OPEN_MS : Math.min(LONGEST_OPEN_MS, this.#openMs * 2);
    this.#openUntil = now + this.#openMs;
    this.#failures = [];
    this.#successes = 0;
  }
}
