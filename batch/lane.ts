import { setTimeout as wait } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import type { UsageLedger } from "../ledger/usage-ledger.ts";
import type { BatchEndpoint } from "../openapi/batches.ts";
import type { Outcome } from "../store/claims.ts";
import type { ClaimedLine } from "../store/line-row.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import type { Clock } from "./clock.ts";
import type { Execute, Executed } from "./execute.ts";
import { failpoint } from "./failpoint.ts";
import { InputFile } from "./input-file.ts";
import type { LineObserver } from "./line-observer.ts";
import type { Log } from "./log.ts";
import { Suspects } from "./suspects.ts";

export interface LaneDeps {
  engine: Engine;
  store: Pick<Store, "claims" | "state">;
  execute: Execute;
  ledger: Pick<UsageLedger, "lineRow" | "committed">;
  /** 0..1 of the engine that batch work may use now. */
  share: () => number;
  clock: Clock;
  log: Log;
  observer: LineObserver;
  randomId: () => string;
  /** The engine is given up after a few deaths in a row; serving for so long makes it forget them. */
  calmMs: number;
}

/** A batch in progress, as a lane sees it. */
export interface LaneBatch {
  id: string;
  owner: string;
  endpoint: BatchEndpoint;
  expiresAt: number;
  inputPath: string;
}

interface Member {
  batch: LaneBatch;
  input: InputFile;
  withdrawn: boolean;
  /** Epoch ms until which it is taken to have no line that is due. */
  restUntil: number;
  flights: Set<Flight>;
  commits: Set<Promise<void>>;
  /** Something happened that the batch's run wants to look at, and has not yet. */
  news: boolean;
  tell: () => void;
}

interface Flight {
  line: ClaimedLine;
  member: Member;
  abort: AbortController;
}

/** Sequences' worth of lines that the engine has: as many again wait in it as run, so that it never runs dry. */
const DEPTH = 2;
const MAX_COMMITS = 1024;
const RECHECK_MS = 1000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 60_000;

/**
 * The way of one model's batch lines: claimed durably in prefix order, a window of them in the engine, each result
 * committed as it comes. Batches take turns by deadline. After a death of the engine, suspects.ts says what may run.
 */
export class Lane {
  readonly #deps: LaneDeps;
  readonly #members = new Map<string, Member>();
  readonly #flights = new Set<Flight>();
  readonly #commits = new Set<Promise<void>>();
  readonly #suspects: Suspects;
  #pumping = false;
  #again = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #awaitsEngine = false;
  #settledTokens = 0;

  constructor(deps: LaneDeps) {
    this.#deps = deps;
    this.#suspects = new Suspects(deps);
  }

  get inEngine(): number {
    return this.#flights.size;
  }

  /** Estimated tokens of the lines that have ended since the server started. */
  get settledTokens(): number {
    return this.#settledTokens;
  }

  inEngineOf(batchId: string): number {
    return this.#members.get(batchId)?.flights.size ?? 0;
  }

  /** Why nothing runs although it could; null when nothing is in the way. */
  get obstacle(): string | null {
    const { engine, store } = this.#deps;
    if (!store.state.writable) return `the store is not writable: ${store.state.reason}`;
    if (engine.state.name === "failed") return "the engine has failed; restart the server";
    if (engine.state.name !== "ready") return `the engine is ${engine.state.name}`;
    return this.#suspects.obstacle;
  }

  /** Takes a batch in; resolves when no line of it may be left, and the caller looks whether that is so. */
  run(batch: LaneBatch): Promise<void> {
    const member = this.#members.get(batch.id) ?? this.#join(batch);
    return new Promise((resolve) => {
      member.tell = () => {
        if (!member.news) return;
        member.news = false;
        resolve();
      };
      member.tell();
      this.wake();
    });
  }

  #join(batch: LaneBatch): Member {
    const member: Member = {
      batch,
      input: new InputFile(batch.inputPath),
      withdrawn: false,
      restUntil: 0,
      flights: new Set(),
      commits: new Set(),
      news: false,
      tell: () => {},
    };
    this.#members.set(batch.id, member);
    return member;
  }

  /**
   * No further line starts. Those in the engine may end within `graceMs` and count; the rest are stopped. Resolves when
   * nothing of the batch is in the engine or on its way to the store.
   */
  async withdraw(batchId: string, graceMs: number): Promise<void> {
    const member = this.#members.get(batchId);
    if (member === undefined) return;
    member.withdrawn = true;
    const ended = async () => {
      while (member.flights.size > 0 || member.commits.size > 0) await wait(5);
    };
    const timer = setTimeout(() => abortAll(member.flights), graceMs);
    await ended();
    clearTimeout(timer);
    this.#members.delete(batchId);
    await member.input.close();
  }

  /** Looks whether there is something to do; harmless at any time. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#pumping) {
      this.#again = true;
      return;
    }
    this.#pumping = true;
    void this.#pump().finally(() => {
      this.#pumping = false;
    });
  }

  /** Stops what runs; its lines are pending again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    abortAll(this.#flights);
    while (this.#pumping || this.#flights.size > 0) await wait(5);
    await Promise.all(this.#commits);
    for (const { input } of this.#members.values()) await input.close();
    this.#members.clear();
  }

  async #pump(): Promise<void> {
    try {
      do {
        this.#again = false;
        while (await this.#claimSome());
      } while (this.#again);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") this.#deps.log.warn({ code: error.code }, "Lines could not be claimed");
      this.#wakeIn(RECHECK_MS);
    }
  }

  /** False when there is nothing more to claim for now. */
  async #claimSome(): Promise<boolean> {
    if (this.#suspects.dying && this.#flights.size === 0) await this.#settleDeath();
    const window = this.#window();
    if (window === 0 || this.#members.size === 0) return false;
    const lines = await this.#claim(window);
    if (lines === null) return false;
    if (lines.length > 0) failpoint("claim.after");
    for (const line of lines) await this.#dispatch(line);
    return lines.length > 0;
  }

  /** Null while no claim makes sense. */
  async #claim(window: number): Promise<ClaimedLine[] | null> {
    const { store, clock } = this.#deps;
    const nowMs = clock.epochMs();
    const suspect = await this.#suspects.next();
    if (suspect !== null) {
      if (this.#flights.size > 0) return null;
      const lines = await store.claims.claimSuspects({ suspect, limit: window, nowMs });
      if (lines.length === 0) this.#wakeIn(RECHECK_MS);
      return lines;
    }
    const room = window - this.#flights.size;
    if (room < Math.max(1, window >> 3)) return null;
    const due = [...this.#members.values()]
      .filter(({ withdrawn, restUntil }) => !withdrawn && restUntil <= nowMs)
      .sort((a, b) => a.batch.expiresAt - b.batch.expiresAt);
    if (due.length === 0) {
      this.#wakeIn(RECHECK_MS);
      return null;
    }
    const lines = await store.claims.claim({ batchIds: due.map(({ batch }) => batch.id), limit: room, nowMs });
    if (lines.length < room) for (const member of due) member.restUntil = nowMs + RECHECK_MS;
    return lines;
  }

  /** Lines that may be in the engine now; 0 while none may. */
  #window(): number {
    const { engine, share, store } = this.#deps;
    if (this.#stopped || this.#commits.size >= MAX_COMMITS || this.#suspects.dying) return 0;
    if (engine.state.name !== "ready" || engine.facts === null) {
      this.#awaitEngine();
      return 0;
    }
    const allowed = share();
    if (!store.state.writable || allowed <= 0 || this.#suspects.obstacle !== null) {
      this.#wakeIn(RECHECK_MS);
      return 0;
    }
    return Math.max(1, Math.round(engine.facts.sequences * DEPTH * allowed));
  }

  #awaitEngine(): void {
    if (this.#awaitsEngine) return;
    this.#awaitsEngine = true;
    this.#deps.engine.ready().then(
      () => {
        this.#awaitsEngine = false;
        this.#suspects.engineReady();
        this.wake();
      },
      // Failed or closed: only a new server helps.
      () => {},
    );
  }

  async #dispatch(line: ClaimedLine): Promise<void> {
    const member = this.#members.get(line.batchId);
    if (member === undefined || member.withdrawn || this.#stopped) return this.#release(line, 0);
    const flight: Flight = { line, member, abort: new AbortController() };
    this.#flights.add(flight);
    member.flights.add(flight);
    let body: unknown;
    try {
      body = await member.input.body(line.offset, line.length);
    } catch (error) {
      this.#deps.log.error({ batch: line.batchId, line: line.number, err: error }, "A line could not be read");
      this.#land(flight);
      return this.#release(line, this.#retryAt(line));
    }
    void this.#fly(flight, body);
  }

  async #fly(flight: Flight, body: unknown): Promise<void> {
    const { line, member } = flight;
    const requestId = `req_${this.#deps.randomId()}`;
    const context = { requestId, signal: flight.abort.signal };
    const result = await this.#deps.execute(member.batch.endpoint, body, context);
    failpoint("inference.after");
    this.#land(flight);
    switch (result.how) {
      case "answered":
        this.#suspects.finished();
        this.#commit(flight, requestId, result);
        break;
      case "timed_out":
        this.#commit(flight, requestId, result);
        break;
      case "engine_died":
        this.#suspects.died(line, result);
        break;
      case "passing":
        await this.#release(line, this.#retryAt(line));
        break;
      case "stopped":
        // The end of a withdrawn batch writes what became of it.
        if (!member.withdrawn) await this.#release(line, 0);
    }
    this.wake();
  }

  /** The line has left the engine. */
  #land(flight: Flight): void {
    this.#flights.delete(flight);
    flight.member.flights.delete(flight);
  }

  async #settleDeath(): Promise<void> {
    const failed = await this.#suspects.settle();
    for (const { batchId } of failed) {
      const member = this.#members.get(batchId);
      if (member === undefined) continue;
      this.#deps.observer.linesEnded(this.#deps.engine.model, member.batch.endpoint, "failed", 1);
      tell(member);
    }
    for (const member of this.#members.values()) member.restUntil = 0;
  }

  #commit(flight: Flight, requestId: string, result: Extract<Executed, { how: "answered" | "timed_out" }>): void {
    const { member } = flight;
    const committing = this.#commitUntilDone(flight, requestId, result).finally(() => {
      this.#commits.delete(committing);
      member.commits.delete(committing);
      if (this.#commits.size === MAX_COMMITS - 1) this.wake();
    });
    this.#commits.add(committing);
    member.commits.add(committing);
  }

  async #commitUntilDone(
    { line, member }: Flight,
    requestId: string,
    result: Extract<Executed, { how: "answered" | "timed_out" }>,
  ): Promise<void> {
    const { store, log, observer, engine } = this.#deps;
    const { batchId, number, attempt } = line;
    const outcome = outcomeOf(requestId, result);
    const ledger = result.how === "answered" ? this.#ledgerRow(line, member.batch, result) : null;
    for (;;) {
      try {
        failpoint("commit.before");
        const committed = await store.claims.commit({ claim: { batchId, number, attempt }, outcome, ledger });
        failpoint("commit.after");
        if (committed.outcome === "stale") return;
        this.#settledTokens += line.estimatedTokens;
        observer.linesEnded(engine.model, member.batch.endpoint, outcome.state, 1);
        if (ledger !== null) this.#deps.ledger.committed(ledger);
        if (committed.remaining === 0) tell(member);
        return;
      } catch (error) {
        const code = error instanceof StoreError ? error.code : "internal";
        const retry = error instanceof StoreError && error.retryable && !this.#stopped;
        if (code !== "closed") log.error({ batch: batchId, line: number, code, retry }, "A result could not be stored");
        if (!retry) return;
        await wait(RECHECK_MS);
      }
    }
  }

  #ledgerRow({ batchId, number }: ClaimedLine, batch: LaneBatch, result: Extract<Executed, { how: "answered" }>) {
    const { usage, version } = result;
    if (usage === null) return null;
    const { owner, endpoint } = batch;
    const { engine, ledger } = this.#deps;
    return ledger.lineRow(
      { owner, keyId: null, endpoint, model: engine.model, version, ...usage },
      { batchId, number },
    );
  }

  #retryAt({ attempt }: ClaimedLine): number {
    const backoff = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 10));
    return Math.round(this.#deps.clock.epochMs() + backoff);
  }

  async #release({ batchId, number, attempt }: ClaimedLine, notBeforeMs: number): Promise<void> {
    try {
      await this.#deps.store.claims.release({ claims: [{ batchId, number, attempt }], notBeforeMs });
      const member = this.#members.get(batchId);
      if (member !== undefined && notBeforeMs === 0) member.restUntil = 0;
    } catch (error) {
      // It stays claimed, and is pending again when the next server starts.
      this.#deps.log.error({ batch: batchId, line: number, err: error }, "A line could not be released");
    }
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms);
    this.#timer.unref();
  }
}

function tell(member: Member): void {
  member.news = true;
  member.tell();
}

function abortAll(flights: Iterable<Flight>): void {
  for (const { abort } of flights) abort.abort();
}

function outcomeOf(requestId: string, result: Extract<Executed, { how: "answered" | "timed_out" }>): Outcome {
  if (result.how === "timed_out") {
    const body = JSON.stringify({ code: "request_timeout", message: result.message });
    return { state: "failed", kind: "error", requestId: null, statusCode: null, body };
  }
  const { statusCode, body } = result;
  if (statusCode < 400) return { state: "done", kind: "output", requestId, statusCode, body };
  return { state: "failed", kind: "error", requestId, statusCode, body };
}
