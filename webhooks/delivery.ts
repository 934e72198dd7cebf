import { setTimeout as delay } from "node:timers/promises";
import Bottleneck from "bottleneck";
import type { Store } from "../store/store.ts";
import type { OutboxRow } from "../store/tables/outbox.ts";
import { attempt, type DeliveryOutcome } from "./attempt.ts";
import { LONGEST_WAITS_MS, nextAttempt } from "./backoff.ts";
import type { Resolve } from "./destination.ts";
import type { WebhookEndpoints } from "./endpoint.ts";

/** The part of the store that delivery uses. */
export type OutboxStore = Pick<
  Store["outbox"],
  "due" | "nextAtMs" | "endExcessiveWaits" | "delivered" | "dead" | "retry" | "disableEndpoint" | "removeOld"
>;

/** Observer for metrics; types come from a fixed list. */
export interface WebhookObserver {
  delivered(type: string): void;
  /** One attempt failed; the event will be retried. */
  failed(type: string): void;
  /** `count` events were abandoned. */
  dead(count: number): void;
}

export interface DeliveryDeps {
  store: OutboxStore;
  endpoints: WebhookEndpoints;
  allowPrivate: boolean;
  resolve: Resolve;
  /** Events are abandoned and removed only by a settled wall time. */
  clock: { now(): number; epochMs(): number; readonly settled: boolean };
  /** 0 to 1. */
  random(): number;
  observer: WebhookObserver;
  log: Record<"info" | "warn" | "error", (fields: object, message: string) => void>;
  /** Seconds for which settled rows stay for inspection. */
  keptSeconds: number;
  /** Milliseconds of one attempt; TIMEOUT_MS unless a test sets it. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
/** Concurrent connections to one endpoint. */
const PER_ENDPOINT = 4;
/** Most rows of one endpoint in memory; the others stay in the store. */
const LOADED_PER_ENDPOINT = 4 * PER_ENDPOINT;
/** Most rows that one statement removes or abandons. */
const ROWS = 1000;
/**
 * Milliseconds between looks into the outbox at most. Timers use the monotonic clock and due times the wall clock; this
 * bounds their difference.
 */
const LONGEST_SLEEP_MS = 60_000;
const SHORTEST_SLEEP_MS = 1_000;
/** Milliseconds of loss since the last look that mean the wall clock was set back. */
const SET_BACK_MS = 1_000;
const STORE_RETRY_MS = 2_000;
const GONE = "HTTP 410: the endpoint accepts no further events";

/**
 * Delivers the events of the outbox at least once:
 *
 * | response | row |
 * |---|---|
 * | 2xx | delivered |
 * | 410 | dead, with all pending events of the endpoint; it gets no event until a restart or reload |
 * | any other, or none | pending, retried with backoff; dead three days after the event |
 * | none before the shutdown | unchanged: the next start retries it |
 *
 * An outcome is durable before the row is read again.
 */
export class WebhookDelivery {
  readonly #deps: DeliveryDeps;
  readonly #queues = new Map<string, Bottleneck>();
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #shutdown = new AbortController();
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #closing = false;
  #timer: NodeJS.Timeout | undefined;
  #tidiedMs = 0;
  /** Wall − monotonic time at the last look. */
  #clockOffsetMs = Number.POSITIVE_INFINITY;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
  }

  /** Reads the outbox now: at the start, and after events were queued. */
  wake(): void {
    this.#lookAgain = true;
    if (this.#closing || this.#looking !== null) return;
    this.#looking = this.#look().finally(() => {
      this.#looking = null;
      // A call of `wake` may have come after the last look.
      if (this.#lookAgain) this.wake();
    });
  }

  /** Starts no further attempts and lets running ones end within the grace. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const grace = setTimeout(() => this.#shutdown.abort(), graceMs);
    await Promise.all(this.#inFlight.values());
    clearTimeout(grace);
    this.#shutdown.abort();
  }

  async #look(): Promise<void> {
    while (this.#lookAgain && !this.#closing) {
      this.#lookAgain = false;
      clearTimeout(this.#timer);
      try {
        await this.#endExcessiveWaits();
        await this.#takeDue();
        await this.#tidy();
        this.#sleep(await this.#deps.store.nextAtMs());
      } catch (error) {
        this.#deps.log.error({ err: error }, "The webhook outbox could not be read; retrying");
        this.#sleepFor(STORE_RETRY_MS);
      }
    }
  }

  /** At the start and after the wall clock was set back, due times may come from a clock that was ahead. */
  async #endExcessiveWaits(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const nowMs = clock.epochMs();
    const offsetMs = nowMs - clock.now();
    if (offsetMs < this.#clockOffsetMs - SET_BACK_MS) {
      const rows = await store.endExcessiveWaits({ nowMs: Math.round(nowMs), longestMs: LONGEST_WAITS_MS });
      if (rows > 0) log.warn({ rows }, "Webhook events had due times of a clock that was ahead; they are retried now");
    }
    this.#clockOffsetMs = offsetMs;
  }

  async #takeDue(): Promise<void> {
    const { store, clock } = this.#deps;
    // Rows in flight are among the first of their endpoint.
    const rows = await store.due({ nowMs: clock.epochMs(), limit: LOADED_PER_ENDPOINT });
    for (const row of rows) if (!this.#inFlight.has(keyOf(row))) this.#enqueue(row);
  }

  #enqueue(row: OutboxRow): void {
    const key = keyOf(row);
    const work = this.#queueOf(row.endpointUrl).schedule(() => this.#deliver(row));
    this.#inFlight.set(
      key,
      work.finally(() => {
        this.#inFlight.delete(key);
        this.wake();
      }),
    );
  }

  #queueOf(url: string): Bottleneck {
    const queue = this.#queues.get(url) ?? new Bottleneck({ maxConcurrent: PER_ENDPOINT });
    this.#queues.set(url, queue);
    return queue;
  }

  async #deliver(row: OutboxRow): Promise<void> {
    const { endpoints } = this.#deps;
    // The row was queued when the shutdown began.
    if (this.#closing) return;
    // The row was queued or being inserted when the endpoint answered 410.
    if (endpoints.isGone(row.endpointUrl)) return this.#giveUp(row, GONE);
    const endpoint = endpoints.get(row.endpointUrl);
    const outcome: DeliveryOutcome =
      endpoint === undefined
        ? { name: "failed", error: "this endpoint is no longer configured" }
        : await attempt(endpoint, row, {
            allowPrivate: this.#deps.allowPrivate,
            resolve: this.#deps.resolve,
            nowMs: this.#deps.clock.epochMs(),
            timeoutMs: this.#deps.timeoutMs ?? TIMEOUT_MS,
            ending: this.#shutdown.signal,
          });
    await this.#settle(row, outcome);
  }

  async #settle(row: OutboxRow, outcome: DeliveryOutcome): Promise<void> {
    const { store, endpoints, clock, random, observer, log } = this.#deps;
    const { id, endpointUrl, type } = row;
    const key = { id, endpointUrl };
    const attempts = row.attempts + 1;
    const fields = { event: id, type, host: hostOf(endpointUrl), attempts };
    switch (outcome.name) {
      case "interrupted":
        return;
      case "delivered":
        if ((await this.#record(() => store.delivered(key))) === null) return;
        log.info(fields, "Webhook delivered");
        observer.delivered(type);
        return;
      case "gone": {
        endpoints.disable(endpointUrl);
        let dead = 0;
        for (let more = true; more; ) {
          const disabled = await this.#record(() => store.disableEndpoint({ endpointUrl, error: GONE, limit: ROWS }));
          if (disabled === null) return;
          dead += disabled.result;
          more = disabled.result === ROWS;
        }
        log.error({ ...fields, dead }, "The webhook endpoint is gone: no more events until a restart or reload");
        observer.dead(dead);
        return;
      }
      case "failed": {
        const { error } = outcome;
        const nowMs = clock.epochMs();
        const onTimeMs = nextAttempt(attempts, row.createdAt * 1000, nowMs, random());
        const nextAtMs = onTimeMs === null && !clock.settled ? Math.round(nowMs) + LONGEST_SLEEP_MS : onTimeMs;
        if (nextAtMs === null) return this.#giveUp(row, error);
        if ((await this.#record(() => store.retry({ ...key, nextAtMs, error }))) === null) return;
        log.warn({ ...fields, error, nextAt: new Date(nextAtMs).toISOString() }, "Webhook failed; it will be retried");
        observer.failed(type);
      }
    }
  }

  async #giveUp({ id, endpointUrl, type }: OutboxRow, error: string): Promise<void> {
    const { store, observer, log } = this.#deps;
    if ((await this.#record(() => store.dead({ id, endpointUrl, error }))) === null) return;
    log.error({ event: id, type, host: hostOf(endpointUrl), error }, "Webhook given up");
    observer.dead(1);
  }

  /**
   * Retries a write until it succeeds, because a row without a durable outcome would be sent again at once. Null when
   * the server shut down before: the next start sends it again.
   */
  async #record<T>(write: () => Promise<T>): Promise<{ result: T } | null> {
    for (;;) {
      try {
        return { result: await write() };
      } catch (error) {
        this.#deps.log.error({ err: error }, "A webhook's outcome could not be written; retrying");
        if (this.#closing) return null;
        await delay(STORE_RETRY_MS, undefined, { signal: this.#shutdown.signal }).catch(() => {});
      }
    }
  }

  async #tidy(): Promise<void> {
    const { clock } = this.#deps;
    const nowMs = clock.epochMs();
    if (!clock.settled || nowMs - this.#tidiedMs < 3_600_000) return;
    const before = Math.floor(nowMs / 1000) - this.#deps.keptSeconds;
    while ((await this.#deps.store.removeOld({ before, limit: ROWS })) === ROWS && !this.#closing);
    this.#tidiedMs = nowMs;
  }

  #sleep(nextAtMs: number | null): void {
    if (nextAtMs === null) return;
    this.#sleepFor(Math.min(Math.max(nextAtMs - this.#deps.clock.epochMs(), SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS));
  }

  #sleepFor(ms: number): void {
    if (this.#closing) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms);
  }
}

function keyOf({ id, endpointUrl }: OutboxRow): string {
  return `${id} ${endpointUrl}`;
}

/** The loggable part of the URL: paths and queries may contain tokens. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "unknown";
}
