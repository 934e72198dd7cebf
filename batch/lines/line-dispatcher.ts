import type { Engine } from "../../engine/engine.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { ActiveBatch, type DispatchedBatch } from "./active-batch.ts";
import { ClaimAhead, type PreparedLine } from "./claim-ahead.ts";
import { CrashBisection } from "./crash-bisection.ts";
import { EngineCapacity, type Residence } from "./engine-capacity.ts";
import { InFlightLines } from "./in-flight-lines.ts";
import type { InputFiles } from "./input-files.ts";
import { LineClaimer } from "./line-claimer.ts";
import type { Execute } from "./line-execution.ts";
import type { LineObserver } from "./line-observer.ts";
import { LineReleaser } from "./line-releaser.ts";
import { LineSettlement, type SettledLines } from "./line-settlement.ts";
import { ResultCommitter } from "./result-committer.ts";

export interface LineDispatcherDeps {
  engine: Engine;
  store: Pick<Store, "claims" | "state">;
  ledger: Pick<UsageLedger, "lineRow" | "lineRates" | "committed">;
  execute: Execute;
  inputs: InputFiles;
  /** 0..1 of the engine that batch work may use now. */
  share: () => number;
  residency: Residence;
  clock: Clock;
  randomId: () => string;
  /** Milliseconds for which the engine has to serve before its deaths in a row are forgotten. */
  calmMs: number;
  observer: LineObserver;
  log: Log;
}

/** Milliseconds until the dispatcher looks again where no event will follow. */
const RECHECK_MS = 1000;

/**
 * The path of one model's batch lines: claimed durably by owner, deadline and prefix order, read ahead, executed with as many
 * in the engine as its capacity allows, each result committed as it comes. After the engine died, crash-bisection.ts
 * decides which lines may run.
 */
export class LineDispatcher {
  readonly claimer: LineClaimer;
  readonly #deps: LineDispatcherDeps;
  readonly #batches = new Map<string, ActiveBatch>();
  readonly #inFlight = new InFlightLines();
  readonly #bisection: CrashBisection;
  readonly #capacity: EngineCapacity;
  readonly #releaser: LineReleaser;
  readonly #results: ResultCommitter;
  readonly #settlement: LineSettlement;
  readonly #ahead: ClaimAhead;
  #pumping: Promise<void> | null = null;
  /** True when the pump has to look once more. */
  #again = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LineDispatcherDeps) {
    this.#deps = deps;
    const batches = this.#batches;
    const inFlight = this.#inFlight;
    const claimer = new LineClaimer(deps);
    const bisection = new CrashBisection(deps);
    const releaser = new LineReleaser({ ...deps, batches });
    const results = new ResultCommitter({ ...deps, model: deps.engine.model, roomAgain: () => this.wake() });
    const settlement = new LineSettlement({
      ...deps,
      claimer,
      bisection,
      results,
      releaser,
      budgetFreed: () => this.wake(),
    });
    this.claimer = claimer;
    this.#bisection = bisection;
    this.#releaser = releaser;
    this.#results = results;
    this.#settlement = settlement;
    this.#capacity = new EngineCapacity({ ...deps, bisection, reopened: () => this.wake() });
    this.#ahead = new ClaimAhead({
      ...deps,
      batches,
      claimer,
      bisection,
      inFlight,
      releaser,
      prepared: () => this.#launch(),
      unreadable: (line, batch, reason) => settlement.fault(line, batch, reason),
      recheckLater: () => this.#wakeIn(RECHECK_MS),
    });
  }

  get inEngine(): number {
    return this.#inFlight.size;
  }

  get settled(): SettledLines {
    return this.#settlement.settled;
  }

  inEngineOf(batchId: string): number {
    return this.#inFlight.of(batchId).length;
  }

  /** The batches whose next line a used-up budget blocks. */
  get paused(): ActiveBatch[] {
    return [...this.#batches.values()].filter(({ usedUp }) => usedUp.length > 0);
  }

  /** Reason that no line runs although the shift allows it; null when nothing prevents it. */
  get obstacle(): string | null {
    return this.#capacity.obstacle;
  }

  /** Runs the lines of a batch. Resolves when no line of it may be left; the caller checks whether that is so. */
  run(dispatched: DispatchedBatch): Promise<void> {
    const batch = this.#batches.get(dispatched.id) ?? new ActiveBatch(dispatched);
    this.#batches.set(dispatched.id, batch);
    this.wake();
    return batch.drained();
  }

  /**
   * No further line of the batch starts. Its lines in the engine may end within `graceMs` and count; the rest are aborted.
   * Resolves when no line of the batch is in the engine or on its way to the store.
   */
  async withdraw(batchId: string, graceMs: number): Promise<void> {
    const batch = this.#batches.get(batchId);
    if (batch === undefined) return;
    batch.withdrawn = true;
    const timer = setTimeout(() => this.#inFlight.abort(batch), graceMs);
    await this.#inFlight.drained(batch);
    clearTimeout(timer);
    await this.#results.settled(batchId);
    this.#batches.delete(batchId);
    this.#ahead.drop(batch);
    await this.#deps.inputs.close(batch.batch.inputPath);
  }

  /** Aborts all lines in the engine: an online request needs the memory of this model. */
  recall(): void {
    this.#inFlight.abort(null);
  }

  /** Has the pump look for work; harmless at any time. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
      // A call of `wake` may come between the pump's last look and here.
      if (this.#again) this.wake();
    });
  }

  /** Aborts all lines; they are pending again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#releaser.stop();
    clearTimeout(this.#timer);
    await this.#pumping;
    this.#inFlight.abort(null);
    await this.#inFlight.drained(null);
    await this.#ahead.releaseAll();
    await this.#results.stop();
    this.#batches.clear();
  }

  async #pump(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        if (this.#bisection.dying && this.#inFlight.size === 0) await this.#settleDeath();
        this.#launch();
        if (await this.#ahead.fill(this.#linesAllowed())) this.#again = true;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") this.#deps.log.warn({ code: error.code }, "Lines could not be claimed");
      this.#wakeIn(RECHECK_MS);
    }
  }

  /** Starts prepared lines up to the capacity of the engine. */
  #launch(): void {
    const allowed = this.#linesAllowed();
    while (this.#inFlight.size < allowed) {
      const next = this.#ahead.next();
      if (next === undefined) return;
      void this.#execute(next);
    }
  }

  /** Lines that may be in the engine now. */
  #linesAllowed(): number {
    if (this.#stopped || this.#results.full) return 0;
    const { lines, recheck } = this.#capacity.look(this.#batches.size > 0);
    if (recheck) this.#wakeIn(RECHECK_MS);
    return lines;
  }

  async #execute({ line, batch, body }: PreparedLine): Promise<void> {
    const inFlight = { line, batch, abort: new AbortController() };
    this.#inFlight.add(inFlight);
    const requestId = this.#settlement.newRequestId();
    const { endpoint, owner } = batch.batch;
    const { model } = this.#deps.engine;
    const context = { requestId, batchId: line.batchId, owner, model, signal: inFlight.abort.signal };
    const executed = await this.#deps.execute(endpoint, body, context);
    // A result is with the writer before its line leaves the engine: `withdraw` waits for both, in this order.
    const settled = this.#settlement.settle(inFlight, requestId, executed);
    this.#inFlight.remove(inFlight);
    await settled;
    this.#launch();
    this.wake();
  }

  /** Every line that was in the dead engine is back. */
  async #settleDeath(): Promise<void> {
    const { observer, engine } = this.#deps;
    await this.#ahead.releaseAll();
    const failed = await this.#bisection.settle();
    for (const { batchId } of failed) {
      const batch = this.#batches.get(batchId);
      if (batch === undefined) continue;
      observer.linesEnded(engine.model, batch.batch.endpoint, "failed", 1);
      batch.signalDrained();
    }
    for (const batch of this.#batches.values()) batch.restUntil = 0;
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms);
    this.#timer.unref();
  }
}
