import type { ApiError } from "../../openapi/api-error.ts";
import type { EmbeddingListener, RequestListener } from "../engine.ts";
import type { EmbeddingRequest, PieceMessage } from "../protocol/embedding.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { EngineRequest } from "../protocol/request.ts";
import type { StepMessage } from "../protocol/step.ts";
import { apiErrorOf } from "./state-error.ts";

/** What is to be sent for a request, and who hears of it. */
export type Work =
  | { type: "submit"; request: EngineRequest; listener: RequestListener }
  | { type: "embed"; request: EmbeddingRequest; listener: EmbeddingListener };

interface FlyingRequest {
  readonly work: Work;
  /** Sequences that have not finished, or inputs without a vector. */
  open: number;
  /** The engine process that runs has accepted it. */
  accepted: boolean;
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
  /** Cancelled requests of which the engine process has not said that no step computes them any more. */
  readonly #leaving = new Set<number>();
  readonly #events: InFlightEvents;

  constructor(events: InFlightEvents) {
    this.#events = events;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Whether the engine process owes a message: a cancelled request, too, may be in a step that hangs. */
  get owesMessage(): boolean {
    return this.#byId.size + this.#leaving.size > 0;
  }

  /** Whether steps or pieces are owed: a request was accepted and has not ended, or was cancelled in one that may go on. */
  get owesWork(): boolean {
    if (this.#leaving.size > 0) return true;
    for (const { accepted } of this.#byId.values()) if (accepted) return true;
    return false;
  }

  add(work: Work): void {
    this.#byId.set(work.request.id, { work, open: parts(work), accepted: false, retried: false, waiting: false });
  }

  /** Forgets a request. True: an engine process knows it and has to be told. */
  remove(id: number): boolean {
    const flying = this.#byId.get(id);
    this.#byId.delete(id);
    const known = flying !== undefined && !flying.waiting;
    if (known) this.#leaving.add(id);
    return known;
  }

  cancelled(id: number): void {
    this.#leaving.delete(id);
  }

  /** Nothing is owed any more by an engine process that has ended. */
  processEnded(): void {
    this.#leaving.clear();
  }

  accepted({ id, promptTokens, promptText }: Extract<FromEngine, { type: "accepted" }>): void {
    const flying = this.#byId.get(id);
    if (flying === undefined) return;
    flying.accepted = true;
    this.#tell(id, () => flying.work.listener.accepted(promptTokens, promptText));
  }

  refused(message: Extract<FromEngine, { type: "refused" }>): void {
    const flying = this.#byId.get(message.id);
    if (flying !== undefined) this.#fail(flying, apiErrorOf(message.error));
  }

  /** Runs once per step for all its sequences. What a listener cancels while it is told is told nothing more. */
  step(message: StepMessage): void {
    for (const { id, index, cachedTokens } of message.started) {
      const work = this.#byId.get(id)?.work;
      if (work?.type === "submit") this.#tell(id, () => work.listener.started(index, cachedTokens, message.agoMs));
    }
    for (const output of message.outputs) {
      const flying = this.#byId.get(output.id);
      if (flying?.work.type !== "submit") continue;
      const { listener } = flying.work;
      const last = output.finish !== null && this.#close(flying);
      this.#tell(output.id, () => listener.output(output));
      if (last) this.#events.finished();
    }
  }

  piece({ started, vectors }: PieceMessage): void {
    for (const id of started) {
      const work = this.#byId.get(id)?.work;
      if (work?.type === "embed") this.#tell(id, () => work.listener.started());
    }
    for (const { id, index, vector } of vectors) {
      const flying = this.#byId.get(id);
      if (flying?.work.type !== "embed") continue;
      const { listener } = flying.work;
      const last = this.#close(flying);
      this.#tell(id, () => listener.vector(index, vector));
      if (last) this.#events.finished();
    }
  }

  /** The engine process died: what may run once more waits for the next one, the rest fails with `error`. */
  interrupt(error: ApiError): void {
    for (const flying of [...this.#byId.values()]) {
      // A listener that was told of its failure may have cancelled others; and who waits already lost nothing.
      if (flying.waiting || !this.#byId.has(flying.work.request.id)) continue;
      if (flying.retried || !this.#mayRestart(flying)) {
        this.#fail(flying, error);
        continue;
      }
      flying.accepted = false;
      flying.retried = true;
      flying.waiting = true;
      flying.open = parts(flying.work);
    }
  }

  /** Hands over every request that waits, in order of arrival. */
  resume(send: (message: ToEngine) => void): void {
    for (const flying of this.#byId.values()) {
      if (!flying.waiting) continue;
      flying.waiting = false;
      send(messageOf(flying.work));
    }
  }

  failAll(error: ApiError): void {
    for (const flying of [...this.#byId.values()]) {
      if (this.#byId.has(flying.work.request.id)) this.#fail(flying, error);
    }
  }

  /** One part of it has ended; a request without open parts is forgotten. @returns whether that was the last */
  #close(flying: FlyingRequest): boolean {
    if (--flying.open > 0) return false;
    this.#byId.delete(flying.work.request.id);
    return true;
  }

  #mayRestart({ work }: FlyingRequest): boolean {
    try {
      return work.listener.mayRestart();
    } catch (error) {
      this.#break(work.request.id, error);
      return false;
    }
  }

  #fail({ work }: FlyingRequest, error: ApiError): void {
    const { id } = work.request;
    if (!this.#byId.delete(id)) return;
    try {
      work.listener.failed(error);
    } catch (thrown) {
      this.#events.broken(id, thrown);
    }
  }

  #tell(id: number, tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#break(id, error);
    }
  }

  #break(id: number, error: unknown): void {
    this.#byId.delete(id);
    this.#events.broken(id, error);
  }
}

/** A listener is no part of what an engine process is told. */
export function messageOf(work: Work): ToEngine {
  return work.type === "submit" ? { type: "submit", request: work.request } : { type: "embed", request: work.request };
}

function parts(work: Work): number {
  return work.type === "submit" ? work.request.n : work.request.inputs.length;
}
