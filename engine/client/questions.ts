import { type ApiError, unavailable } from "../../openapi/api-error.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokens.ts";
import { apiErrorOf } from "./refusal.ts";

/** The longest text that is taken is tokenized in seconds; a process that is this late is hung. */
const PATIENCE_MS = 60_000;

interface Asker {
  resolve(answer: TokenAnswer): void;
  reject(error: ApiError): void;
  patience: NodeJS.Timeout;
}

/** The questions about tokens that an engine process has not answered yet. */
export class Questions {
  readonly #askers = new Map<number, Asker>();
  readonly #send: (message: ToEngine) => void;
  #lastId = 0;

  constructor(send: (message: ToEngine) => void) {
    this.#send = send;
  }

  get size(): number {
    return this.#askers.size;
  }

  ask(question: TokenQuestion): Promise<TokenAnswer> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#askers.delete(id);
        reject(unavailable("engine_restarting", "The engine does not answer.", 1));
      };
      this.#askers.set(id, { resolve, reject, patience: setTimeout(giveUp, PATIENCE_MS) });
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
    clearTimeout(asker?.patience);
    return asker;
  }
}
