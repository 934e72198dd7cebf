import type { Engine } from "../../engine/engine.ts";
import type { Clock } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { ActiveBatch, type LaneBatch } from "./active-batch.ts";
import { CrashBisection } from "./crash-bisection.ts";
import { EngineCapacity, type Residence } from "./engine-capacity.ts";
import { type InFlightLine, InFlightLines, type Prepared } from "./in-flight-lines.ts";
import type { InputFiles } from "./input-files.ts";
import { LineClaimer } from "./line-claimer.ts";
import type { Execute } from "./line-execution.ts";
import { release } from "./line-release.ts";
import { type Ended, ResultWriter, type ResultWriterDeps } from "./result-writer.ts";
import { aboutLine, lineBackoff, MAX_ATTEMPTS, TELLING_ATTEMPTS } from "./retry-policy.ts";

export interface LineDispatcherDeps extends Omit<ResultWriterDeps, "model" | "store"> {
  engine: Engine;
  store: Pick<Store, "claims" | "state">;
  execute: Execute;
  inputs: InputFiles;
  /** 0..1 of the engine that batch work may use now. */
  share: () => number;
  residency: Residence;
  clock: Clock;
  randomId: () => string;
  /** The engine is given up after a few deaths in a row; serving for so long makes it forget them. */
  calmMs: number;
}

/** More results than these wait for the disk, and no further line starts. */
const MAX_COMMITS = 1024;
const RECHECK_MS = 1000;

/**
 * The way of one model's batch lines: claimed durably in prefix order and read ahead, a window of them in the engine,
 * each result committed as it comes. Batches take turns by deadline. After a death of the engine, crash-bisection.ts says what
 * may run.
 */
export class LineDispatcher {
  readonly claimer: LineClaimer;
  readonly #deps: LineDispatcherDeps;
  readonly #members = new Map<string, ActiveBatch>();
  readonly #flights = new InFlightLines();
  readonly #commits: ResultWriter;
  readonly #suspects: CrashBisection;
  readonly #engine: EngineCapacity;
  #prepared: Prepared[] = [];
  #pumping: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #settled = { lines: 0, tokens: 0 };

  constructor(deps: LineDispatcherDeps) {
    this.#deps = deps;
    this.#commits = new ResultWriter({ ...deps, model: deps.engine.model });
    this.claimer = new LineClaimer(deps);
    this.#suspects = new CrashBisection(deps);
    this.#engine = new EngineCapacity({ ...deps, suspects: this.#suspects, reopened: () => this.wake() });
  }

  get inEngine(): number {
    return this.#flights.size;
  }

  /** Lines that have ended since the server started, and their estimated tokens. */
  get settled(): { lines: number; tokens: number } {
    return this.#settled;
  }

  inEngineOf(batchId: string): number {
    return this.#flights.of(batchId).length;
  }

  /** Those whom a used-up budget keeps from running. */
  get paused(): ActiveBatch[] {
    return [...this.#members.values()].filter(({ usedUp }) => usedUp.length > 0);
  }

  /** Why nothing runs although it could; null when nothing is in the way. */
  get obstacle(): string | null {
    return this.#engine.obstacle;
  }

  /** Takes a batch in; resolves when no line of it may be left, and the caller looks whether that is so. */
  run(batch: LaneBatch): Promise<void> {
    const member = this.#members.get(batch.id) ?? new ActiveBatch(batch);
    this.#members.set(batch.id, member);
    this.wake();
    return member.news();
  }

  /**
   * No further line starts. Those in the engine may end within `graceMs` and count; the rest are stopped. Resolves when
   * nothing of the batch is in the engine or on its way to the store.
   */
  async withdraw(batchId: string, graceMs: number): Promise<void> {
    const member = this.#members.get(batchId);
    if (member === undefined) return;
    member.withdrawn = true;
    const timer = setTimeout(() => this.#flights.abort(member), graceMs);
    await this.#flights.landed(member);
    clearTimeout(timer);
    await this.#commits.settled(batchId);
    this.#members.delete(batchId);
    // Whoever ends the batch ends these lines too.
    this.#prepared = this.#prepared.filter((prepared) => prepared.member !== member);
    await this.#deps.inputs.close(member.batch.inputPath);
  }

  /** Gives back what runs: an online request needs the memory of this model. */
  recall(): void {
    this.#flights.abort(null);
  }

  /** Looks whether there is something to do; harmless at any time. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
      // Somebody woke it between its last look and here.
      if (this.#again) this.wake();
    });
  }

  /** Stops what runs; its lines are pending again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#pumping;
    this.#flights.abort(null);
    await this.#flights.landed(null);
    await this.#releasePrepared();
    await this.#commits.stop();
    this.#members.clear();
  }

  async #pump(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        if (this.#suspects.dying && this.#flights.size === 0) await this.#settleDeath();
        this.#launch();
        if (await this.#prepareMore()) this.#again = true;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") this.#deps.log.warn({ code: error.code }, "Lines could not be claimed");
      this.#wakeIn(RECHECK_MS);
    }
  }

  /** Fills the engine's window from what is prepared. */
  #launch(): void {
    const window = this.#window();
    while (this.#prepared.length > 0 && this.#flights.size < window) {
      const next = this.#prepared.shift();
      if (next === undefined || next.member.withdrawn) continue;
      const flight: InFlightLine = { line: next.line, member: next.member, abort: new AbortController() };
      this.#flights.add(flight);
      void this.#fly(flight, next.body);
    }
  }

  /** Claims and reads ahead. True when there may be more to claim. */
  async #prepareMore(): Promise<boolean> {
    const window = this.#window();
    if (window === 0 || this.#members.size === 0) return false;
    const suspect = await this.#suspects.next();
    if (suspect !== null) return this.#prepareSuspects(suspect, window);
    // As many wait here as may be in the engine: a claim takes an fsync, in which many short lines end.
    const room = window - this.#prepared.length;
    if (room < Math.max(1, window >> 1)) return false;
    const lines = await this.claimer.claim(this.#members.values(), room);
    if (lines === null) this.#wakeIn(RECHECK_MS);
    else await this.#prepare(lines);
    return lines !== null;
  }

  /** Nothing else is in the engine while a suspect group is. */
  async #prepareSuspects(suspect: number, window: number): Promise<boolean> {
    await this.#releasePrepared();
    if (this.#flights.size > 0) return false;
    const lines = await this.claimer.claimSuspects(suspect, window);
    await this.#prepare(lines);
    // None was due, or all were of a batch that ends: nothing else would wake this lane.
    if (this.#flights.size === 0) this.#wakeIn(RECHECK_MS);
    return false;
  }

  async #prepare(lines: readonly ClaimedLine[]): Promise<void> {
    if (lines.length > 0) failpoint("claim.after");
    for (const line of lines) {
      const member = this.#members.get(line.batchId);
      if (member === undefined || member.withdrawn) {
        await this.#release([line], 0);
        continue;
      }
      try {
        const body = await this.#deps.inputs.body(member.batch.inputPath, line.offset, line.length);
        // Only now: a batch that ends meanwhile puts another list in this one's place.
        this.#prepared.push({ line, member, body });
      } catch (error) {
        this.#fault(line, member, `it could not be read: ${error instanceof Error ? error.message : error}`);
      }
      this.#launch();
    }
  }

  /** Lines that may be in the engine now; 0 while none may. */
  #window(): number {
    if (this.#stopped || this.#commits.size >= MAX_COMMITS) return 0;
    const { lines, recheck } = this.#engine.look(this.#members.size > 0);
    if (recheck) this.#wakeIn(RECHECK_MS);
    return lines;
  }

  async #fly(flight: InFlightLine, body: unknown): Promise<void> {
    const { line, member } = flight;
    const requestId = `req_${this.#deps.randomId()}`;
    const { endpoint, owner } = member.batch;
    const result = await this.#deps.execute(endpoint, body, {
      requestId,
      owner,
      model: this.#deps.engine.model,
      signal: flight.abort.signal,
    });
    failpoint("inference.after");
    if (result.how === "engine_died") this.#suspects.died(line, result);
    // An error may have come without the engine, which then counts on.
    if (result.how === "answered" && result.statusCode < 400) this.#suspects.finished();
    if (result.how === "answered" && result.usage !== null) this.claimer.learn(result.usage);
    if (result.how === "answered" || result.how === "timed_out") this.#commit(line, member, requestId, result);
    this.#flights.remove(flight);
    if (result.how === "fault") this.#fault(line, member, result.reason);
    if (result.how === "passing") {
      const about = aboutLine(line, result.reason);
      if (line.attempt >= TELLING_ATTEMPTS) this.#deps.log.warn(about, "A line could not run; it is tried again later");
      await this.#retry(line);
    }
    // Of a withdrawn batch, its end writes what became of the line.
    if (result.how === "stopped" && !member.withdrawn) await this.#release([line], 0);
    this.#launch();
    this.wake();
  }

  async #settleDeath(): Promise<void> {
    await this.#releasePrepared();
    const failed = await this.#suspects.settle();
    for (const { batchId } of failed) {
      const member = this.#members.get(batchId);
      if (member === undefined) continue;
      this.#deps.observer.linesEnded(this.#deps.engine.model, member.batch.endpoint, "failed", 1);
      member.tell();
    }
    for (const member of this.#members.values()) member.restUntil = 0;
  }

  #commit(line: ClaimedLine, member: ActiveBatch, requestId: string, ended: Ended): void {
    this.#commits.add(line, member.batch, requestId, ended, {
      committed: (left) => {
        this.#settled = { lines: this.#settled.lines + 1, tokens: this.#settled.tokens + line.estimatedTokens };
        if (left === 0) member.tell();
        // What it held back and did not take, its next lines may.
        if (member.usedUp.length > 0) member.restUntil = 0;
        if (member.usedUp.length > 0 || this.#commits.size === MAX_COMMITS - 1) this.wake();
      },
      refused: (code) => {
        if (ended.how === "given_up") void this.#retry(line);
        else this.#fault(line, member, `the store refused its result (${code})`);
      },
    });
  }

  /** The server itself failed at a line. */
  #fault(line: ClaimedLine, member: ActiveBatch, reason: string): void {
    const givenUp = line.attempt >= MAX_ATTEMPTS;
    this.#deps.log.error({ ...aboutLine(line, reason), givenUp }, "The server failed at a line");
    if (givenUp) this.#commit(line, member, `req_${this.#deps.randomId()}`, { how: "given_up" });
    else void this.#retry(line);
  }

  #retry(line: ClaimedLine): Promise<void> {
    return this.#release([line], Math.round(this.#deps.clock.epochMs() + lineBackoff(line.attempt)));
  }

  async #releasePrepared(): Promise<void> {
    const lines = this.#prepared.splice(0).map(({ line }) => line);
    if (lines.length > 0) await this.#release(lines, 0);
  }

  async #release(lines: readonly ClaimedLine[], notBeforeMs: number): Promise<void> {
    await release({ ...this.#deps, stopped: () => this.#stopped }, lines, notBeforeMs);
    if (notBeforeMs === 0) for (const member of this.#members.values()) member.restUntil = 0;
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms);
    this.#timer.unref();
  }
}
