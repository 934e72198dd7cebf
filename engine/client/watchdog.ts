import type { FromEngine } from "../protocol/messages.ts";

/**
 * True for a message that proves progress of the process. A status, a token answer and a fault never do, nor do answers
 * to new requests once steps are due: JavaScript sends them while a native thread hangs in a decode.
 */
export function isLife({ type }: FromEngine, workDue: boolean): boolean {
  if (type === "accepted" || type === "refused") return !workDue;
  return type !== "status" && type !== "tokenized" && type !== "fault";
}

/**
 * Detects a process that sends no message. It counts its own ticks instead of reading a clock: time in which this process
 * itself stood still (stopped, suspended, in a debugger) does not count.
 */
export class Watchdog {
  readonly #intervalMs: number;
  #silentMs = 0;
  #alive = false;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** A message came, or an idle process got work. */
  alive(): void {
    this.#alive = true;
  }

  /** Every `intervalMs`. True when the process was silent for at least `limitMs`; null where none is due. */
  tick(limitMs: number | null): boolean {
    const excused = this.#alive || limitMs === null;
    this.#alive = false;
    this.#silentMs = excused ? 0 : this.#silentMs + this.#intervalMs;
    return limitMs !== null && this.#silentMs >= limitMs;
  }
}
