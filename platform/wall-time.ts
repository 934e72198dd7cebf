import type { Clock, DeadlineClock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Milliseconds that no slewing clock drifts between two checks. */
const JUMP_MS = 60_000;

/**
 * The wall time for deadlines: a clock that was set wrongly must not expire a night's work. Between checks it runs on
 * the monotonic clock. Results of a check:
 *
 * | wall − monotonic, against the accepted offset | then |
 * |---|---|
 * | within a minute | accepted |
 * | over a minute off, for the first time | logged; the old offset stays |
 * | over a minute off, and within a minute of the previous check's | logged; accepted |
 *
 * The clock at the start is a single reading, and nothing may expire by it until a check has confirmed it: a machine
 * may boot with any time and set it from the network moments later.
 *
 * A suspended machine shows as a jump too, as its monotonic clock stood still. Its deadlines are one check late.
 */
export class WallTime implements DeadlineClock {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Accepted wall − monotonic offset, in milliseconds. */
  #offset: number;
  /** The offset that the last check rejected. */
  #rejected: number | null = null;
  #settled = false;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#offset = clock.epochMs() - clock.now();
  }

  get settled(): boolean {
    return this.#settled;
  }

  now(): number {
    return this.#clock.now();
  }

  epochMs(): number {
    return this.#clock.now() + this.#offset;
  }

  /** Compares the two clocks; the sweeper calls it before every sweep. */
  check(): void {
    const offset = this.#clock.epochMs() - this.#clock.now();
    const jumpSeconds = Math.round((offset - this.#offset) / 1000);
    if (Math.abs(offset - this.#offset) <= JUMP_MS) {
      if (this.#rejected !== null) this.#log.info({}, "The wall clock jumped back: deadlines are unaffected");
      this.#accept(offset);
    } else if (this.#rejected !== null && Math.abs(offset - this.#rejected) <= JUMP_MS) {
      this.#log.warn({ jumpSeconds }, "The wall clock's jump is confirmed: deadlines follow it now");
      this.#accept(offset);
    } else {
      this.#log.warn({ jumpSeconds }, "The wall clock jumped: nothing expires until a second reading confirms it");
      this.#rejected = offset;
    }
  }

  #accept(offset: number): void {
    this.#offset = offset;
    this.#rejected = null;
    this.#settled = true;
  }
}
