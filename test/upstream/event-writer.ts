import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { AnswerEvent } from "./answer-events.ts";
import type { Misbehaviour } from "./misbehaviour.ts";

/** Thrown when a misbehaviour has ended the response. */
export class Ended extends Error {}

/** Writes the bytes of a response, and breaks it at a given place. */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #wrong: Misbehaviour | null;
  readonly #signal: AbortSignal;
  #tokens = 0;
  #paused = false;

  constructor(response: ServerResponse, wrong: Misbehaviour | null, signal: AbortSignal) {
    this.#response = response;
    this.#wrong = wrong;
    this.#signal = signal;
  }

  /** @throws Ended when the response ends here */
  async event({ json, tokens }: AnswerEvent): Promise<void> {
    const text = `data: ${JSON.stringify(json)}\n\n`;
    await this.#breakBefore(text);
    await this.#write(text);
    this.#tokens += tokens;
  }

  async done(): Promise<void> {
    await this.#breakBefore("data: [DONE]\n\n");
    if (this.#wrong?.kind !== "no done") await this.#write("data: [DONE]\n\n");
    this.#response.end();
  }

  /** A whole body; one that breaks does so in its middle. */
  async body(text: string): Promise<void> {
    this.#tokens = Number.POSITIVE_INFINITY;
    await this.#breakBefore(text);
    await this.#write(text);
    this.#response.end();
  }

  async #breakBefore(next: string): Promise<void> {
    const wrong = this.#wrong;
    if (wrong === null || !("after" in wrong) || wrong.after === "headers" || this.#tokens < wrong.after) return;
    if (wrong.kind === "pause") {
      await this.#pause(wrong.ms);
      return;
    }
    const half = next.slice(0, next.length / 2);
    const whole = this.#tokens === Number.POSITIVE_INFINITY;
    if (wrong.kind === "in-band error") await this.#write(`data: ${JSON.stringify(wrong.event)}\n\n`);
    else if (wrong.kind === "half chunk" || whole) await this.#write(half);
    if (wrong.kind === "stall") await aborted(this.#signal);
    if (wrong.kind === "reset") this.#response.socket?.resetAndDestroy();
    else this.#response.end();
    throw new Ended();
  }

  async #pause(ms: number): Promise<void> {
    if (this.#paused) return;
    this.#paused = true;
    await wait(ms, undefined, { signal: this.#signal });
  }

  /** Waits while the client does not read. */
  async #write(text: string): Promise<void> {
    this.#signal.throwIfAborted();
    const bytes = Buffer.from(text);
    const size = this.#wrong?.kind === "pieces" ? this.#wrong.bytes : bytes.length;
    for (let from = 0; from < bytes.length; from += size) {
      const more = this.#response.write(bytes.subarray(from, from + size));
      if (!more) await once(this.#response, "drain", { signal: this.#signal });
    }
  }
}

/** Rejects when the client has closed the connection; nothing else ends it. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
