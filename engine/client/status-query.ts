import type { EngineStatus } from "../protocol/status.ts";

/** An engine process answers within a step's JavaScript; one that is this late is hung or dying. */
const PATIENCE_MS = 2000;

/** Asks an engine process how it is doing. Those who ask while an answer is on its way share it. */
export class StatusQuery {
  readonly #waiting: ((status: EngineStatus | null) => void)[] = [];
  readonly #ask: () => void;
  #patience: NodeJS.Timeout | undefined;

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** Resolves to null when no answer comes in time. */
  status(): Promise<EngineStatus | null> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length > 1) return;
      this.#patience = setTimeout(() => this.answered(null), PATIENCE_MS);
      this.#ask();
    });
  }

  /** With null when the process is gone and no answer will come. */
  answered(status: EngineStatus | null): void {
    clearTimeout(this.#patience);
    for (const resolve of this.#waiting.splice(0)) resolve(status);
  }
}
