import { setTimeout as delay } from "node:timers/promises";
import Bottleneck from "bottleneck";
import type { Store } from "../store/store.ts";
import type { OutboxRow } from "../store/tables/outbox.ts";
import { attempt, type Outcome } from "./attempt.ts";
import { LONGEST_WAITS_MS, nextAttempt } from "./backoff.ts";
import type { Resolve } from "./destination.ts";
import type { WebhookEndpoints } from "./endpoint.ts";

/** The part of the store that delivery uses. */
export type OutboxStore = Pick<
  Store["outbox"],
  "due" | "nextAtMs" | "endExcessiveWaits" | "delivered" | "dead" | "retry" | "disableEndpoint" | "removeOld"
>;

/** What is counted; types come from a fixed list. */
export interface WebhookObserver {
  delivered(type: string): void;
  /** One attempt failed; the event is tried again. */
  failed(type: string): void;
  /** Given up for good: so many events. */
  dead(count: number): void;
}

export interface DeliveryDeps {
  store: OutboxStore;
  endpoints: WebhookEndpoints;
  allowPrivate: boolean;
  resolve: Resolve;
  /** Nothing is given up or removed by a wall time that is not settled. */
  clock: { now(): number; epochMs(): number; readonly settled: boolean };
  /** 0 to 1. */
  random(): number;
  observer: WebhookObserver;
  log: Record<"info" | "warn" | "error", (fields: object, message: string) => void>;
  /** How long settled rows stay, for people to look at. */
  keptSeconds: number;
  /** For one attempt; TIMEOUT_MS unless a test is in a hurry. */
  timeoutMs?: number;
}

export const TIMEOUT_MS = 10_000;
/** Connections to one endpoint at a time. */
const PER_ENDPOINT = 4;
/** Rows of one endpoint held in memory; the others wait in the store. */
const HELD_PER_ENDPOINT = 4 * PER_ENDPOINT;
/** Rows that one statement removes or gives up. */
const ROWS = 1000;
/** Timers follow the monotonic clock and due times the wall clock: looking each minute bounds what they differ by. */
const LONGEST_SLEEP_MS = 60_000;
const SHORTEST_SLEEP_MS = 1_000;
/** A wall clock that lost so much since the last look was set back. */
const SET_BACK_MS = 1_000;
const STORE_RETRY_MS = 2_000;
const GONE = "HTTP 410: the endpoint wants nothing more";

/**
 * Delivers what is in the outbox, at least once:
 *
 * | answer | row |
 * |---|---|
 * | 2xx | delivered |
 * | 410 | dead, with all that waits for the endpoint, which gets nothing more until the server starts again |
 * | any other, or none | pending, tried again by backoff; dead three days after the event |
 * | the server ends | as before: the next start tries it again |
 *
 * An outcome is durable before the row is looked at again.
 */
export class WebhookDelivery {
  readonly #deps: DeliveryDeps;
  readonly #lanes = new Map<string, Bottleneck>();
  readonly #held = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #closing = false;
  #timer: NodeJS.Timeout | undefined;
  #tidiedMs = 0;
  /** Wall − monotonic time, as of the last look. */
  #clockOffsetMs = Number.POSITIVE_INFINITY;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
  }

  /** Looks into the outbox now: at the start, and after events were queued. */
  wake(): void {
    this.#lookAgain = true;
    if (this.#closing || this.#looking !== null) return;
    this.#looking = this.#look().finally(() => {
      this.#looking = null;
      // Somebody woke it between its last look and here.
      if (this.#lookAgain) this.wake();
    });
  }

  /** Begins no attempt any more and lets those that run end within the grace. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const grace = setTimeout(() => this.#ending.abort(), graceMs);
    await Promise.all(this.#held.values());
    clearTimeout(grace);
    this.#ending.abort();
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
        this.#deps.log.error({ err: error }, "The webhook outbox can't be read");
        this.#sleepFor(STORE_RETRY_MS);
      }
    }
  }

  /** At the start, and when the wall clock was set back: rows may have got their times from one that was ahead. */
  async #endExcessiveWaits(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const nowMs = clock.epochMs();
    const offsetMs = nowMs - clock.now();
    if (offsetMs < this.#clockOffsetMs - SET_BACK_MS) {
      const rows = await store.endExcessiveWaits({ nowMs: Math.round(nowMs), longestMs: LONGEST_WAITS_MS });
      if (rows > 0) log.warn({ rows }, "Webhook events wait for a time of a clock that was ahead; they are tried now");
    }
    this.#clockOffsetMs = offsetMs;
  }

  async #takeDue(): Promise<void> {
    const { store, clock } = this.#deps;
    // Those on their way are among the first of their endpoint.
    const rows = await store.due({ nowMs: clock.epochMs(), limit: HELD_PER_ENDPOINT });
    for (const row of rows) if (!this.#held.has(keyOf(row))) this.#hold(row);
  }

  #hold(row: OutboxRow): void {
    const key = keyOf(row);
    const work = this.#lane(row.endpointUrl).schedule(() => this.#deliver(row));
    this.#held.set(
      key,
      work.finally(() => {
        this.#held.delete(key);
        this.wake();
      }),
    );
  }

  #lane(url: string): Bottleneck {
    const lane = this.#lanes.get(url) ?? new Bottleneck({ maxConcurrent: PER_ENDPOINT });
    this.#lanes.set(url, lane);
    return lane;
  }

  async #deliver(row: OutboxRow): Promise<void> {
    const { endpoints } = this.#deps;
    // It stood in line when the server began to end.
    if (this.#closing) return;
    // Queued, or on its way into the store, when the endpoint said so.
    if (endpoints.isGone(row.endpointUrl)) return this.#giveUp(row, GONE);
    const endpoint = endpoints.get(row.endpointUrl);
    const outcome: Outcome =
      endpoint === undefined
        ? { name: "failed", error: "this endpoint is not configured any more" }
        : await attempt(endpoint, row, {
            allowPrivate: this.#deps.allowPrivate,
            resolve: this.#deps.resolve,
            nowMs: this.#deps.clock.epochMs(),
            timeoutMs: this.#deps.timeoutMs ?? TIMEOUT_MS,
            ending: this.#ending.signal,
          });
    await this.#settle(row, outcome);
  }

  async #settle(row: OutboxRow, outcome: Outcome): Promise<void> {
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
        log.warn({ ...fields, error, nextAt: new Date(nextAtMs).toISOString() }, "Webhook failed; it is tried again");
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
   * Writes until it is written, as a row whose outcome is not durable would be sent again at once. Null when the server
   * ended before that: then it is sent again by the next start.
   */
  async #record<T>(write: () => Promise<T>): Promise<{ result: T } | null> {
    for (;;) {
      try {
        return { result: await write() };
      } catch (error) {
        this.#deps.log.error({ err: error }, "A webhook's outcome can't be written");
        if (this.#closing) return null;
        await delay(STORE_RETRY_MS, undefined, { signal: this.#ending.signal }).catch(() => {});
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

/** All of the URL that may be logged: paths and queries hold tokens. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "unknown";
}
