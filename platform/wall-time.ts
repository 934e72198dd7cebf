import type { Clock, DeadlineClock } from "./clock.ts";
import type { Log } from "./log.ts";

/** More than any slewing clock is off between two looks. */
const JUMP_MS = 60_000;

/**
 * The wall time that deadlines are held against: a clock that was set wrongly must not expire a night's work. Between
 * looks it runs on the monotonic clock. What a look finds:
 *
 * | wall − monotonic, against what is believed | then |
 * |---|---|
 * | within a minute | believed from now on |
 * | over a minute off, for the first time | logged; the old time goes on |
 * | over a minute off, and within a minute of what the look before found | logged; believed from now on |
 *
 * What the clock said at the start was looked at once only, and nothing may expire by it until a look has found the same: a
 * machine may boot with any time, and set it by the network moments later.
 *
 * A machine that slept shows as a jump too: its monotonic clock stood still. Its deadlines are held one look later.
 */
export class WallTime implements DeadlineClock {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Wall − monotonic, in milliseconds, as believed. */
  #offset: number;
  /** The offset that the last look found and did not believe. */
  #doubted: number | null = null;
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

  /** Compares the two clocks; the sweeper does it before every sweep. */
  look(): void {
    const offset = this.#clock.epochMs() - this.#clock.now();
    const jumpSeconds = Math.round((offset - this.#offset) / 1000);
    if (Math.abs(offset - this.#offset) <= JUMP_MS) {
      if (this.#doubted !== null) this.#log.info({}, "The wall clock is back where it was");
      this.#believe(offset);
    } else if (this.#doubted !== null && Math.abs(offset - this.#doubted) <= JUMP_MS) {
      this.#log.warn({ jumpSeconds }, "The wall clock still says the same after its jump: deadlines follow it now");
      this.#believe(offset);
    } else {
      this.#log.warn({ jumpSeconds }, "The wall clock jumped: nothing expires until a second look confirms it");
      this.#doubted = offset;
    }
  }

  #believe(offset: number): void {
    this.#offset = offset;
    this.#doubted = null;
    this.#settled = true;
  }
}
