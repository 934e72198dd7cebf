import { type ApiError, unavailable } from "../../openapi/api-error.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { apiErrorOf } from "../state-error.ts";

/** Milliseconds until a question is given up: the longest text allowed is tokenized in seconds, unless many are queued. */
const REPLY_TIMEOUT_MS = 60_000;

interface PendingCall {
  resolve(answer: TokenAnswer): void;
  reject(error: unknown): void;
  /** Removes its timeout and its abort listener. */
  settle(): void;
}

/** The questions about tokens that an engine process has not answered yet. */
export class TokenizeCalls {
  readonly #pending = new Map<number, PendingCall>();
  readonly #send: (message: ToEngine) => void;
  readonly #newId: () => number;

  /** `newId`: ids are unique among requests too. */
  constructor(send: (message: ToEngine) => void, newId: () => number) {
    this.#send = send;
    this.#newId = newId;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** The engine process stops its work on the question when the signal aborts, and after a minute. */
  async send(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    signal.throwIfAborted();
    const id = this.#newId();
    return new Promise((resolve, reject) => {
      const cancel = (reason: unknown) => {
        this.#take(id)?.reject(reason);
        this.#send({ type: "cancel", id });
      };
      const abort = () => cancel(signal.reason);
      const giveUp = () => cancel(unavailable("engine_restarting", "The engine does not answer.", 1));
      const timeout = setTimeout(giveUp, REPLY_TIMEOUT_MS);
      signal.addEventListener("abort", abort, { once: true });
      const settle = () => {
        clearTimeout(timeout);
        signal.removeEventListener("abort", abort);
      };
      this.#pending.set(id, { resolve, reject, settle });
      this.#send({ type: "tokenize", id, question });
    });
  }

  answered({ id, answer }: Extract<FromEngine, { type: "tokenized" }>): void {
    const call = this.#take(id);
    if ("error" in answer) call?.reject(apiErrorOf(answer.error));
    else call?.resolve(answer);
  }

  /** The process is gone. */
  failAll(error: ApiError): void {
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(error);
  }

  #take(id: number): PendingCall | undefined {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    call?.settle();
    return call;
  }
}
