import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Store } from "../../store/store.ts";
import type { OutboxRow } from "../../store/tables/outbox.ts";
import { type DeliveryDeps, WebhookDelivery } from "../../webhooks/delivery.ts";
import { resolveBySystem } from "../../webhooks/destination.ts";
import { type EventType, WebhookEndpoints } from "../../webhooks/endpoint.ts";
import { EVENT_TYPES } from "../../webhooks/event-types.ts";
import { batchEvents } from "../../webhooks/outbox.ts";
import { testStore } from "../unit/store/test-store.ts";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

export interface Received {
  headers: IncomingMessage["headers"];
  body: string;
  url: string;
}

/** An HTTP server on loopback that records its requests, until the end of the test. */
export async function receiver(answer: RequestListener): Promise<{ url: string; received: Received[]; port: number }> {
  const { close, ...opened } = await openReceiver(answer);
  onTestFinished(close);
  return opened;
}

/** An HTTP server on loopback that records its requests until it is closed. */
export async function openReceiver(answer: RequestListener) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      received.push({ headers: request.headers, body, url: request.url ?? "" });
      answer(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook?token=inthepath`, received, port, close };
}

/** Delivery over a real store, with a clock that the test sets and a record of events. */
export class Rig {
  now = Date.now();
  #monotonic = 0;
  settled = true;
  readonly recorded: string[] = [];
  readonly logged: string[] = [];
  readonly endpoints: WebhookEndpoints;
  readonly delivery: WebhookDelivery;
  readonly #store: Store;
  readonly #events = new EventEmitter();
  #count = 0;

  private constructor(store: Store, urls: readonly string[], deps: Partial<DeliveryDeps>) {
    this.#store = store;
    this.endpoints = new WebhookEndpoints(urls.map((url) => ({ url, secret: SECRET, events: EVENT_TYPES })));
    const record = (word: string) => {
      this.recorded.push(word);
      this.#events.emit("recorded");
    };
    const now = () => this.now;
    const monotonic = () => this.#monotonic;
    const settled = () => this.settled;
    const log = (fields: object, message: string) => this.logged.push(`${message} ${JSON.stringify(fields)}`);
    this.delivery = new WebhookDelivery({
      store: store.outbox,
      endpoints: this.endpoints,
      allowPrivate: true,
      resolve: resolveBySystem,
      clock: {
        now: monotonic,
        epochMs: now,
        get settled() {
          return settled();
        },
      },
      random: () => 0.5,
      keptSeconds: 30 * 86_400,
      observer: {
        delivered: (type) => record(`delivered ${type}`),
        failed: (type) => record(`failed ${type}`),
        dead: (count) => record(`dead ${count}`),
      },
      log: { info: log, warn: log, error: log },
      ...deps,
    });
  }

  static async start(urls: readonly string[], deps: Partial<DeliveryDeps> = {}, store?: Store): Promise<Rig> {
    const rig = new Rig(store ?? (await testStore()), urls, deps);
    onTestFinished(() => rig.delivery.close(0));
    return rig;
  }

  /** Queues an event as a batch's end does. */
  async queue(type: EventType = "batch.completed"): Promise<string> {
    const id = `evt_${++this.#count}`;
    const events = batchEvents(this.endpoints, { id, type, batchId: `batch_${this.#count}`, nowMs: this.now });
    await this.#store.outbox.insert({ events });
    this.delivery.wake();
    return id;
  }

  /** Advances the clock; due events are tried. */
  pass(ms: number): void {
    this.now += ms;
    this.#monotonic += ms;
    this.delivery.wake();
  }

  /** Moves the wall clock by this much, without the monotonic one. */
  setClock(ms: number): void {
    this.now += ms;
    this.delivery.wake();
  }

  /** Resolves once this many events are recorded. */
  async receives(count: number): Promise<string[]> {
    while (this.recorded.length < count) await once(this.#events, "recorded");
    return this.recorded;
  }

  /** All waiting events, due or not. */
  waiting(): Promise<OutboxRow[]> {
    return this.#store.outbox.due({ nowMs: Number.MAX_SAFE_INTEGER, limit: 1000 });
  }
}
