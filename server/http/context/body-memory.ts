import { unavailable } from "../../../openapi/api-error.ts";
import { OwnerCounts } from "../../../platform/owner-counts.ts";

/** Bytes of each body that are not counted: --max-connections and --queue-limit bound their sum. */
const FREE_BYTES = 64 * 1024;
const RETRY_SECONDS = 1;

/**
 * Bounds the bytes of the bodies of all requests that have not ended: a request that waits, or may run once more, still
 * refers to its body. Owners share the bytes as they share a queue.
 */
export class BodyMemory {
  readonly #most: number;
  readonly #owners = new OwnerCounts();

  constructor(most: number) {
    this.#most = most;
  }

  get held(): number {
    return this.#owners.total;
  }

  /** Throws 503 for a body that announces more bytes than are free. Holds none of them yet. */
  open(owner: string, announced: number): BodyHold {
    this.#check(owner, announced - FREE_BYTES);
    let bytes = -FREE_BYTES;
    return {
      add: (more) => {
        const growth = Math.max(0, bytes + more) - Math.max(0, bytes);
        this.#check(owner, growth);
        // After the check: end() must not release bytes that were refused.
        bytes += more;
        this.#owners.add(owner, growth);
      },
      end: () => {
        this.#owners.add(owner, -Math.max(0, bytes));
        bytes = Number.NEGATIVE_INFINITY;
      },
    };
  }

  #check(owner: string, more: number): void {
    if (more <= 0 || this.#owners.takes(owner, more, this.#most)) return;
    const message = `The server holds request bodies of ${this.held} bytes, and at most ${this.#most} at once.`;
    throw unavailable("server_is_overloaded", message, RETRY_SECONDS);
  }
}

/** The memory that one body holds. */
export interface BodyHold {
  /** Throws 503 where fewer bytes are free. */
  add(bytes: number): void;
  /** Releases the held bytes; may be called again. */
  end(): void;
}
