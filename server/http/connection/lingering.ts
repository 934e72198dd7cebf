import type { IncomingMessage, ServerResponse } from "node:http";

/** Milliseconds for which the rest of a refused body is discarded: in all, and between two chunks. nginx's defaults. */
const LINGER_MS = 30_000;
const LINGER_GAP_MS = 5000;

const listeners = new WeakMap<ServerResponse, LingeringResponses>();

/** The answered requests of one listener whose refused bodies are still being discarded. */
export class LingeringResponses {
  readonly #ends = new Set<() => void>();
  #closing = false;

  /** Notes the listener that a response belongs to. */
  add(res: ServerResponse): void {
    listeners.set(res, this);
  }

  /** The listener closes: ends all of them now, and later ones at once. A client that trickles must not delay the shutdown. */
  end(): void {
    this.#closing = true;
    for (const end of this.#ends) end();
  }

  /** Calls `end` when the listener closes, at once where it does already. The function it returns cancels that. */
  onClose(end: () => void): () => void {
    if (this.#closing) end();
    else this.#ends.add(end);
    return () => void this.#ends.delete(end);
  }
}

/**
 * Ends a response whose body is written already, after the rest of the request's body was discarded. Closing at once would
 * reset the connection, and a client that writes its whole body before it reads would never see the answer (RFC 9112, 9.6).
 */
export function endAfterBody(req: IncomingMessage, res: ServerResponse): void {
  const total = setTimeout(end, LINGER_MS);
  const gap = setTimeout(end, LINGER_GAP_MS);
  req.once("end", end);
  res.once("close", clear);
  req.removeAllListeners("data");
  req.on("data", () => gap.refresh());
  req.resume();
  const cancel = listeners.get(res)?.onClose(end);

  function clear(): void {
    clearTimeout(total);
    clearTimeout(gap);
    cancel?.();
  }

  function end(): void {
    clearTimeout(total);
    clearTimeout(gap);
    res.end();
  }
}
