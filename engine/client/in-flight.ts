import type { ApiError } from "../../openapi/api-error.ts";
import type { RequestListener } from "../engine.ts";
import type { EngineRequest, FromEngine, StepMessage } from "../protocol.ts";
import { apiErrorOf } from "./refusal.ts";

export interface FlyingRequest {
  readonly request: EngineRequest;
  readonly listener: RequestListener;
  /** Sequences that have not finished. */
  open: number;
  retried: boolean;
  /** True: no engine process knows it; it is submitted when the next one is ready. */
  waiting: boolean;
}

export interface InFlightEvents {
  /** A request ran to its end. */
  finished(): void;
  /** A listener threw: its request is forgotten here and has to be cancelled. */
  broken(id: number, error: unknown): void;
}

/** The requests that were submitted and have not ended, by id; and the way of each message to its listener. */
export class InFlight {
  readonly #byId = new Map<number, FlyingRequest>();
  readonly #events: InFlightEvents;

  constructor(events: InFlightEvents) {
    this.#events = events;
  }

  get size(): number {
    return this.#byId.size;
  }

  add(request: EngineRequest, listener: RequestListener): void {
    this.#byId.set(request.id, { request, listener, open: request.n, retried: false, waiting: false });
  }

  /** Forgets a request. True: an engine process knows it and has to be told. */
  remove(id: number): boolean {
    const flying = this.#byId.get(id);
    this.#byId.delete(id);
    return flying !== undefined && !flying.waiting;
  }

  accepted(message: Extract<FromEngine, { type: "accepted" }>): void {
    const flying = this.#byId.get(message.id);
    if (flying === undefined) return;
    try {
      flying.listener.accepted(message.promptTokens, message.promptText);
    } catch (error) {
      this.#break(message.id, error);
    }
  }

  refused(message: Extract<FromEngine, { type: "refused" }>): void {
    const flying = this.#byId.get(message.id);
    if (flying !== undefined) this.#fail(flying, apiErrorOf(message.error));
  }

  /** Runs once per step for all its sequences. What a listener cancels while it is told is told nothing more. */
  step(message: StepMessage): void {
    for (const start of message.started) {
      const flying = this.#byId.get(start.id);
      if (flying === undefined) continue;
      try {
        flying.listener.started(start.index, start.cachedTokens, message.agoMs);
      } catch (error) {
        this.#break(start.id, error);
      }
    }
    for (const output of message.outputs) {
      const flying = this.#byId.get(output.id);
      if (flying === undefined) continue;
      const last = output.finish !== null && --flying.open === 0;
      if (last) this.#byId.delete(output.id);
      try {
        flying.listener.output(output);
      } catch (error) {
        this.#break(output.id, error);
      }
      if (last) this.#events.finished();
    }
  }

  /** The engine process died: what may run once more waits for the next one, the rest fails with `error`. */
  interrupt(error: ApiError): void {
    for (const flying of [...this.#byId.values()]) {
      // A listener that was told of its failure may have cancelled others; and who waits already lost nothing.
      if (flying.waiting || !this.#byId.has(flying.request.id)) continue;
      if (flying.retried || !this.#mayRestart(flying)) {
        this.#fail(flying, error);
        continue;
      }
      flying.retried = true;
      flying.waiting = true;
      flying.open = flying.request.n;
    }
  }

  /** Hands over every request that waits, in order of arrival. */
  resume(submit: (request: EngineRequest) => void): void {
    for (const flying of this.#byId.values()) {
      if (!flying.waiting) continue;
      flying.waiting = false;
      submit(flying.request);
    }
  }

  failAll(error: ApiError): void {
    for (const flying of [...this.#byId.values()]) {
      if (this.#byId.has(flying.request.id)) this.#fail(flying, error);
    }
  }

  #mayRestart(flying: FlyingRequest): boolean {
    try {
      return flying.listener.mayRestart();
    } catch (error) {
      this.#break(flying.request.id, error);
      return false;
    }
  }

  #fail(flying: FlyingRequest, error: ApiError): void {
    if (!this.#byId.delete(flying.request.id)) return;
    try {
      flying.listener.failed(error);
    } catch (thrown) {
      this.#events.broken(flying.request.id, thrown);
    }
  }

  #break(id: number, error: unknown): void {
    this.#byId.delete(id);
    this.#events.broken(id, error);
  }
}
