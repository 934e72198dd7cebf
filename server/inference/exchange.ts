import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../ledger/key.ts";
import { disconnectSignal } from "../http/connection/client-disconnect.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { callerOf } from "../http/context/caller.ts";
import { contextOf } from "../http/context/request-context.ts";

/** One HTTP request with its response, on the path of inference. */
export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly caller: Caller;
  /** The request's id. */
  readonly id: string;
  /** Milliseconds of the server's clock, before the body was read. */
  readonly arrivedAt: number;
  #disconnected: AbortSignal | null = null;

  constructor(req: IncomingMessage, res: ServerResponse) {
    const { id, arrivedAt } = contextOf(req);
    this.req = req;
    this.res = res;
    this.caller = callerOf(req);
    this.id = id;
    this.arrivedAt = arrivedAt;
  }

  /** Aborted, with a ClientGone, when the client disconnects before the whole answer was sent. */
  get disconnected(): AbortSignal {
    this.#disconnected ??= disconnectSignal(this.res);
    return this.#disconnected;
  }

  /** Calls `release` once the response is over: sent, or given up. */
  whenOver(release: () => void): void {
    if (this.res.closed) release();
    else this.res.once("close", release);
  }

  /** Throws ClientGone once the client has disconnected. */
  throwIfGone(): void {
    if (this.res.destroyed || this.req.socket.destroyed) throw new ClientGone();
  }
}
