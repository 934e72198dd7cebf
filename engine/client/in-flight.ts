import type { ApiError } from "../../openapi/api-error.ts";
import type { EmbeddingListener, RequestListener } from "../engine.ts";
import type { EmbeddingRequest, PieceMessage } from "../protocol/embedding.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { EngineRequest } from "../protocol/request.ts";
import type { StepMessage } from "../protocol/step.ts";
import { apiErrorOf } from "../state-error.ts";

/** A submitted request and the listener for its results. */
export type Work =
  | { type: "submit"; request: EngineRequest; listener: RequestListener }
  | { type: "embed"; request: EmbeddingRequest; listener: EmbeddingListener };

interface RequestInFlight {
  readonly work: Work;
  /** Sequences that have not finished, or inputs without a vector. */
  open: number;
  /** True when the present engine process has accepted it. */
  accepted: boolean;
  /** True when it was submitted to a second process. */
  retried: boolean;
  /** True between a death and the next process, which it is submitted to. */
  waiting: boolean;
}

export interface InFlightEvents {
  /** A request ran to its end. */
  finished(): void;
  /** A listener threw: its request is removed here and has to be cancelled. */
  broken(id: number, error: unknown): void;
}

/** The requests in flight by id; hands each message to its listener. */
export class InFlight {
  readonly #byId = new Map<number, RequestInFlight>();
  /** Cancelled requests that a step may still compute: the engine process has not confirmed the cancel. */
  readonly #leaving = new Set<number>();
  readonly #events: InFlightEvents;

  constructor(events: InFlightEvents) {
    this.#events = events;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** True while a message of the engine process is due: a cancelled request, too, may be in a step that hangs. */
  get messageDue(): boolean {
    return this.#byId.size + this.#leaving.size > 0;
  }

  /** True while steps or embedding batches are due: a request was accepted and has not ended, or its cancel is unconfirmed. */
  get workDue(): boolean {
    if (this.#leaving.size > 0) return true;
    for (const { accepted } of this.#byId.values()) if (accepted) return true;
    return false;
  }

  add(work: Work): void {
    this.#byId.set(work.request.id, { work, open: parts(work), accepted: false, retried: false, waiting: false });
  }

  /** Removes a request. True when it was sent to the engine process, which then needs a cancel. */
  remove(id: number): boolean {
    const request = this.#byId.get(id);
    this.#byId.delete(id);
    const known = request !== undefined && !request.waiting;
    if (known) this.#leaving.add(id);
    return known;
  }

  cancelled(id: number): void {
    this.#leaving.delete(id);
  }

  /** No message of an engine process that has ended is due. */
  processEnded(): void {
    this.#leaving.clear();
  }

  accepted({ id, promptTokens, promptText }: Extract<FromEngine, { type: "accepted" }>): void {
    const request = this.#byId.get(id);
    if (request === undefined) return;
    request.accepted = true;
    this.#notify(id, () => request.work.listener.accepted(promptTokens, promptText));
  }

  refused(message: Extract<FromEngine, { type: "refused" }>): void {
    const request = this.#byId.get(message.id);
    if (request !== undefined) this.#fail(request, apiErrorOf(message.error));
  }

  /** Runs once per step for all its sequences. A request that a listener cancels meanwhile gets no further event. */
  step(message: StepMessage): void {
    for (const { id, index, cachedTokens } of message.started) {
      const work = this.#byId.get(id)?.work;
      if (work?.type === "submit") this.#notify(id, () => work.listener.started(index, cachedTokens, message.agoMs));
    }
    for (const output of message.outputs) {
      const request = this.#byId.get(output.id);
      if (request?.work.type !== "submit") continue;
      const { listener } = request.work;
      const last = output.finish !== null && this.#close(request);
      this.#notify(output.id, () => listener.output(output));
      if (last) this.#events.finished();
    }
  }

  piece({ started, vectors }: PieceMessage): void {
    for (const id of started) {
      const work = this.#byId.get(id)?.work;
      if (work?.type === "embed") this.#notify(id, () => work.listener.started());
    }
    for (const { id, index, vector } of vectors) {
      const request = this.#byId.get(id);
      if (request?.work.type !== "embed") continue;
      const { listener } = request.work;
      const last = this.#close(request);
      this.#notify(id, () => listener.vector(index, vector));
      if (last) this.#events.finished();
    }
  }

  /** The engine process died: requests that may run once more wait for the next one, the others fail with `error`. */
  interrupt(error: ApiError): void {
    for (const request of [...this.#byId.values()]) {
      // A failed listener may have cancelled other requests; a request that waits already was in no process.
      if (request.waiting || !this.#byId.has(request.work.request.id)) continue;
      if (request.retried || !this.#mayRestart(request)) {
        this.#fail(request, error);
        continue;
      }
      request.accepted = false;
      request.retried = true;
      request.waiting = true;
      request.open = parts(request.work);
    }
  }

  /** Sends every waiting request, in order of arrival. */
  resume(send: (message: ToEngine) => void): void {
    for (const request of this.#byId.values()) {
      if (!request.waiting) continue;
      request.waiting = false;
      send(messageOf(request.work));
    }
  }

  failAll(error: ApiError): void {
    for (const request of [...this.#byId.values()]) {
      if (this.#byId.has(request.work.request.id)) this.#fail(request, error);
    }
  }

  /** One part of it has ended; a request without open parts is removed. @returns whether that was the last */
  #close(request: RequestInFlight): boolean {
    if (--request.open > 0) return false;
    this.#byId.delete(request.work.request.id);
    return true;
  }

  #mayRestart({ work }: RequestInFlight): boolean {
    try {
      return work.listener.mayRestart("died");
    } catch (error) {
      this.#break(work.request.id, error);
      return false;
    }
  }

  #fail({ work }: RequestInFlight, error: ApiError): void {
    const { id } = work.request;
    if (!this.#byId.delete(id)) return;
    try {
      work.listener.failed(error);
    } catch (thrown) {
      this.#events.broken(id, thrown);
    }
  }

  #notify(id: number, notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.#break(id, error);
    }
  }

  #break(id: number, error: unknown): void {
    this.#byId.delete(id);
    this.#events.broken(id, error);
  }
}

/** The message to the engine process: the work without its listener. */
export function messageOf(work: Work): ToEngine {
  return work.type === "submit" ? { type: "submit", request: work.request } : { type: "embed", request: work.request };
}

function parts(work: Work): number {
  return work.type === "submit" ? work.request.n : work.request.inputs.length;
}
