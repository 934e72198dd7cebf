import type { EngineObserver } from "../engine/engine.ts";
import type { PieceStats } from "../engine/protocol/embedding.ts";
import type { StepStats, TimeShare } from "../engine/protocol/step.ts";
import { type Clock, epochSeconds } from "../platform/clock.ts";
import type { Store } from "../store/store.ts";
import type { BusyTime, MachineAccount } from "../store/tables/machine-time.ts";

/** Receives attributed machine time, for the metrics. */
export interface MachineSink {
  spent(account: MachineAccount, seconds: number): void;
}

export interface MachineTimeDeps {
  store: Pick<Store, "machine">;
  sink: MachineSink;
  log: { error(fields: object, message: string): void };
  clock: Clock;
}

/** Milliseconds between writes: a crash loses at most this much. */
const FLUSH_MS = 5000;
/** Milliseconds between writes while nothing is computed, so that an idle server seldom writes to its disk. */
const IDLE_FLUSH_MS = 60_000;

/**
 * Sums machine time by model, endpoint and tier, and writes it to the store every few seconds in one transaction. While
 * the store fails the sums stay here, in bounded memory.
 */
export class MachineTime implements Pick<EngineObserver, "step" | "piece"> {
  readonly #deps: MachineTimeDeps;
  /** Microseconds not stored yet by account; fractions stay after a write. */
  readonly #accounts = new Map<string, MachineAccount & { us: number }>();
  #upUs = 0;
  /** Monotonic milliseconds up to which `#upUs` counts, and those of the last write. */
  #countedAt: number;
  #writtenAt: number;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #failing = false;

  constructor(deps: MachineTimeDeps) {
    this.#deps = deps;
    this.#countedAt = deps.clock.now();
    this.#writtenAt = this.#countedAt;
  }

  start(): void {
    this.#timer = setInterval(() => this.#flushIfDue(), FLUSH_MS);
    this.#timer.unref();
  }

  step(model: string, stats: StepStats): void {
    this.#spend(model, stats.shares);
  }

  piece(model: string, stats: PieceStats): void {
    this.#spend(model, stats.shares);
  }

  /** Writes the rest, at shutdown. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#writing;
    await this.#write();
  }

  #spend(model: string, shares: readonly TimeShare[]): void {
    for (const { endpoint, tier, ms } of shares) {
      const key = keyOf({ model, endpoint, tier });
      let account = this.#accounts.get(key);
      if (account === undefined) {
        account = { model, endpoint, tier, us: 0 };
        this.#accounts.set(key, account);
      }
      account.us += 1000 * ms;
      this.#deps.sink.spent(account, ms / 1000);
    }
  }

  #flushIfDue(): void {
    if (this.#writing !== null) return;
    const idle = this.#busyTimes().length === 0;
    if (idle && this.#deps.clock.now() - this.#writtenAt < IDLE_FLUSH_MS) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
  }

  /** Whole microseconds of every account with at least one. */
  #busyTimes(): BusyTime[] {
    return [...this.#accounts.values()].flatMap(({ us, ...account }) => {
      const busyUs = Math.floor(us);
      return busyUs === 0 ? [] : [{ ...account, busyUs }];
    });
  }

  async #write(): Promise<void> {
    const { store, log, clock } = this.#deps;
    const now = clock.now();
    this.#upUs += 1000 * (now - this.#countedAt);
    this.#countedAt = now;
    const busy = this.#busyTimes();
    const upUs = Math.floor(this.#upUs);
    this.#move(upUs, busy, -1);
    try {
      await store.machine.add({ now: epochSeconds(clock), upUs, busy });
      this.#writtenAt = now;
      this.#failing = false;
    } catch (error) {
      this.#move(upUs, busy, 1);
      if (!this.#failing) log.error({ err: error }, "Machine time could not be written; retrying");
      this.#failing = true;
    }
  }

  /** Takes an interval out (−1), or puts it back (1). */
  #move(upUs: number, busy: readonly BusyTime[], sign: 1 | -1): void {
    this.#upUs += sign * upUs;
    for (const time of busy) this.#accounts.get(keyOf(time))!.us += sign * time.busyUs;
  }
}

function keyOf({ model, endpoint, tier }: MachineAccount): string {
  return `${model}\n${endpoint}\n${tier}`;
}
