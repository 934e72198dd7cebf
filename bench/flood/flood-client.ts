import { Agent, type ClientRequest, request } from "node:http";
import { AUTHORIZATION } from "../target/target.ts";

/**
 * | kind | request | rejected with |
 * |---|---|---|
 * | unknown | a POST of 1 kB to an unknown path | 404 |
 * | large | a body with a declared length of 64 MB, of which 64 kB are sent | 413 |
 * | flex | a chat at tier flex to a full server (`--flex-wait-ms 1`) | 429 |
 * | key | a chat with an unknown key | 401, and 429 after too many failures from an address |
 * | rate | a chat with `--flood-key`, beyond its requests per minute | 429 |
 * | budget | a chat with `--spent-key`, whose budget is used up | 429 |
 * | unavailable | a chat with `--flood-model`, which the server cannot load | 503 |
 */
export const FLOOD_KINDS = ["unknown", "large", "flex", "key", "rate", "budget", "unavailable"] as const;
export type FloodKind = (typeof FLOOD_KINDS)[number];

export const REFUSED_WITH: Record<FloodKind, readonly number[]> = {
  unknown: [404],
  large: [413],
  flex: [429],
  key: [401, 429],
  rate: [429],
  budget: [429],
  unavailable: [503],
};

export interface FloodOrder {
  kind: FloodKind;
  /** Base URL of the endpoints. */
  base: string;
  model: string;
  /** Requests per second. */
  rate: number;
  /** Replaces the key of answered requests. */
  key: string | null;
}

/** Number of responses by status, `error` for a broken connection, and this process's CPU seconds. */
export interface FloodCounts {
  statuses: Record<string, number>;
  cpuSeconds: number;
}

const TICK_MS = 10;
const DECLARED_BYTES = 64e6;
const SENT_BYTES = 64 * 1024;

/**
 * Sends at a fixed rate regardless of the responses, over kept-alive connections; each tick sends the requests due by
 * then.
 */
export class Flood {
  readonly #order: FloodOrder;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #statuses: Record<string, number> = {};
  readonly #body: string;
  readonly #began = performance.now();
  #sent = 0;

  constructor(order: FloodOrder) {
    this.#order = order;
    const messages = [{ role: "user", content: `Hello! ${"word ".repeat(200)}` }];
    const tier = order.kind === "flex" ? { service_tier: "flex" } : {};
    this.#body = JSON.stringify({ model: order.model, max_tokens: 1, messages, ...tier });
  }

  start(): void {
    setInterval(() => {
      const due = Math.floor(((performance.now() - this.#began) / 1000) * this.#order.rate);
      for (; this.#sent < due; this.#sent++) this.#send();
    }, TICK_MS);
  }

  get counts(): FloodCounts {
    const { user, system } = process.cpuUsage();
    return { statuses: this.#statuses, cpuSeconds: (user + system) / 1e6 };
  }

  #send(): void {
    const { kind, base, key } = this.#order;
    const path = kind === "unknown" ? "nothing" : "chat/completions";
    const large = kind === "large";
    const headers: Record<string, string | number> = {
      ...AUTHORIZATION,
      "content-type": "application/json",
      "content-length": large ? DECLARED_BYTES : Buffer.byteLength(this.#body),
    };
    if (key !== null) headers.authorization = `Bearer ${key}`;
    // A connection with an unfinished body cannot be reused.
    const agent = large ? false : this.#agent;
    const call: ClientRequest = request(new URL(path, base), { method: "POST", headers, agent }, (response) => {
      this.#count(String(response.statusCode));
      response.resume();
      if (large) response.once("end", () => call.destroy());
    });
    // A connection that breaks after its response is not an error.
    let answered = false;
    call.once("response", () => {
      answered = true;
    });
    call.on("error", () => {
      if (!answered) this.#count("error");
    });
    if (large) call.write(Buffer.alloc(SENT_BYTES, " "));
    else call.end(this.#body);
  }

  #count(what: string): void {
    this.#statuses[what] = (this.#statuses[what] ?? 0) + 1;
  }
}
