import type { FromEngine } from "../protocol/messages.ts";

/**
 * Whether a message proves that the process goes on with its work. Status and tokens never do, nor do answers to new requests
 * once steps are owed: JavaScript gives them while a native thread hangs in a decode.
 */
export function isLife({ type }: FromEngine, owesWork: boolean): boolean {
  if (type === "accepted" || type === "refused") return !owesWork;
  return type !== "status" && type !== "tokenized" && type !== "fault";
}

/**
 * Notices a process that says nothing. It counts its own ticks instead of reading a clock: when this process itself
 * stood still (stopped, suspended, in a debugger), the time that passed is not held against the other one.
 */
export class Watchdog {
  readonly #intervalMs: number;
  #silentMs = 0;
  #heard = false;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Something came, or something was asked of a process that had nothing to say before. */
  heard(): void {
    this.#heard = true;
  }

  /** Every `intervalMs`. True: it has been silent for at least `limitMs`; null means that it owes nothing now. */
  tick(limitMs: number | null): boolean {
    const excused = this.#heard || limitMs === null;
    this.#heard = false;
    this.#silentMs = excused ? 0 : this.#silentMs + this.#intervalMs;
    return limitMs !== null && this.#silentMs >= limitMs;
  }
}
