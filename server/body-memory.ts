import { unavailable } from "../openapi/api-error.ts";

/** Bytes of each body that are not counted: --max-connections bounds what they come to. */
const FREE_BYTES = 64 * 1024;
const RETRY_SECONDS = 1;

/** Bounds the bytes of all request bodies that are being read and parsed. */
export class BodyMemory {
  readonly #most: number;
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get held(): number {
    return this.#held;
  }

  /** Throws 503 for a body that announces more than there is room for. Nothing is held for it yet. */
  open(announced: number): BodyHold {
    this.#check(announced - FREE_BYTES);
    let bytes = -FREE_BYTES;
    return {
      add: (more) => {
        const growth = Math.max(0, bytes + more) - Math.max(0, bytes);
        this.#check(growth);
        // Only now: what was refused is not given back by end().
        bytes += more;
        this.#held += growth;
      },
      end: () => {
        this.#held -= Math.max(0, bytes);
        bytes = Number.NEGATIVE_INFINITY;
      },
    };
  }

  #check(more: number): void {
    if (more <= 0 || this.#held + more <= this.#most) return;
    const message = `The server reads request bodies of ${this.#held} bytes, and at most ${this.#most} at once.`;
    throw unavailable("server_is_overloaded", message, RETRY_SECONDS);
  }
}

/** What one body holds of the memory. */
export interface BodyHold {
  /** Throws 503 where there is no room for so many more bytes. */
  add(bytes: number): void;
  /** Gives back what is held; may be called again. */
  end(): void;
}
