import { ConcurrencyLimit, type Place } from "../../../../engine/upstream/replica/concurrency-limit.ts";

/** A replica with a fixed number of slots, and batch work without end at its limit; durations in milliseconds. */
export interface ReplicaModel {
  /** Requests that it computes at once. */
  slots: number;
  /** Requests that may wait behind them; the next one is refused. */
  queue: number;
  serviceMs: number;
  /** The wait that a refusal asks for; null for none. */
  retryAfterMs?: number;
  /** True where its metrics are scraped. */
  scraped: boolean;
}

const TICK_MS = 50;
/** A refusal's way there and back. */
const REFUSAL_MS = 50;

interface Running {
  place: Place | null;
  arrived: number;
  startedAt: number | null;
}

/** Time in ticks: requests arrive, start in order, end; a report comes every second. Nothing is random. */
export class Simulation {
  readonly limit: ConcurrencyLimit;
  /** The limit at every second. */
  readonly limits: number[] = [];
  refusals = 0;
  answers = 0;
  online = 0;
  #requests: Running[] = [];
  readonly #model: ReplicaModel;
  readonly #clock = { ms: 0, now: () => this.#clock.ms };
  /** Refused requests that are on their way back. */
  #refused: { place: Place; at: number }[] = [];
  #ttfts: number[] = [];

  constructor(model: ReplicaModel, initial?: number) {
    this.#model = model;
    this.limit = new ConcurrencyLimit(
      this.#clock,
      initial === undefined ? undefined : { alone: initial, beside: initial },
    );
  }

  /** @param online requests that are kept in flight beside the batch */
  run(seconds: number, online = 0): void {
    this.online = online;
    const end = this.#clock.ms + seconds * 1000;
    for (; this.#clock.ms < end; this.#clock.ms += TICK_MS) {
      this.#end();
      this.#arrive();
      this.#start();
      if (this.#clock.ms % 1000 === 0) this.#report();
    }
  }

  /** The mean of the limit over the last seconds. */
  mean(seconds: number): number {
    return this.limits.slice(-seconds).reduce((sum, limit) => sum + limit, 0) / seconds;
  }

  /** The longest wait of an online request for its slot in the latest second. */
  get onlineWaitMs(): number {
    return Math.max(0, ...this.#ttfts);
  }

  #end(): void {
    const now = this.#clock.ms;
    for (const { place } of this.#refused.filter(({ at }) => at <= now)) {
      place.end("busy", this.#model.retryAfterMs ?? null);
    }
    this.#refused = this.#refused.filter(({ at }) => at > now);
    const ended = this.#requests.filter(
      ({ startedAt }) => startedAt !== null && now - startedAt >= this.#model.serviceMs,
    );
    this.#requests = this.#requests.filter((request) => !ended.includes(request));
    for (const { place } of ended) {
      place?.end("clean");
      if (place !== null) this.answers++;
    }
  }

  /** Online requests come first; a full queue refuses them too. */
  #arrive(): void {
    const { slots, queue } = this.#model;
    const arrived = this.#clock.ms;
    const present = this.#requests.filter(({ place }) => place === null).length;
    for (let i = present; i < this.online; i++) this.#requests.push({ place: null, arrived, startedAt: null });
    for (let place = this.limit.enter(); place !== null; place = this.limit.enter()) {
      if (this.#requests.length < slots + queue) this.#requests.push({ place, arrived, startedAt: null });
      else {
        this.#refused.push({ place, at: arrived + REFUSAL_MS });
        this.refusals++;
      }
    }
  }

  #start(): void {
    const now = this.#clock.ms;
    let free = this.#model.slots - this.#requests.filter(({ startedAt }) => startedAt !== null).length;
    for (const request of this.#requests) {
      if (free === 0) return;
      if (request.startedAt !== null) continue;
      request.startedAt = now;
      free--;
      if (request.place === null) this.#ttfts.push(now - request.arrived);
    }
  }

  #report(): void {
    const waiting = this.#requests.filter(({ startedAt }) => startedAt === null).length;
    this.#ttfts = this.#ttfts.slice(-20);
    const ttft = this.#ttfts.length === 0 ? null : this.onlineWaitMs;
    this.limit.report({
      waiting: this.#model.scraped ? waiting : null,
      online: this.online,
      onlineTtftMs: ttft,
      objectiveMs: 1000,
    });
    this.limits.push(this.limit.limit);
  }
}
