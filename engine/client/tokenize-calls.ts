import { type ApiError, unavailable } from "../../openapi/api-error.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { apiErrorOf } from "./state-error.ts";

/** The longest text that is taken is tokenized in seconds; a process that is this late is hung or has many before it. */
const PATIENCE_MS = 60_000;

interface Asker {
  resolve(answer: TokenAnswer): void;
  reject(error: unknown): void;
  /** Ends what watches for its cancellation. */
  settle(): void;
}

/** The questions about tokens that an engine process has not answered yet. */
export class TokenizeCalls {
  readonly #askers = new Map<number, Asker>();
  readonly #send: (message: ToEngine) => void;
  readonly #newId: () => number;

  /** `newId`: ids are unique among requests too. */
  constructor(send: (message: ToEngine) => void, newId: () => number) {
    this.#send = send;
    this.#newId = newId;
  }

  get size(): number {
    return this.#askers.size;
  }

  /** The engine process stops working on it when the signal aborts, and after a minute. */
  async ask(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    signal.throwIfAborted();
    const id = this.#newId();
    return new Promise((resolve, reject) => {
      const cancel = (reason: unknown) => {
        this.#take(id)?.reject(reason);
        this.#send({ type: "cancel", id });
      };
      const leave = () => cancel(signal.reason);
      const giveUp = () => cancel(unavailable("engine_restarting", "The engine does not answer.", 1));
      const patience = setTimeout(giveUp, PATIENCE_MS);
      signal.addEventListener("abort", leave, { once: true });
      const settle = () => {
        clearTimeout(patience);
        signal.removeEventListener("abort", leave);
      };
      this.#askers.set(id, { resolve, reject, settle });
      this.#send({ type: "tokenize", id, question });
    });
  }

  answered({ id, answer }: Extract<FromEngine, { type: "tokenized" }>): void {
    const asker = this.#take(id);
    if ("error" in answer) asker?.reject(apiErrorOf(answer.error));
    else asker?.resolve(answer);
  }

  /** The process is gone. */
  failAll(error: ApiError): void {
    for (const id of [...this.#askers.keys()]) this.#take(id)?.reject(error);
  }

  #take(id: number): Asker | undefined {
    const asker = this.#askers.get(id);
    this.#askers.delete(id);
    asker?.settle();
    return asker;
  }
}
