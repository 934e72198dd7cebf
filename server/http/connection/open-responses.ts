import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The responses of each connection that are not over: a client may send further requests before it has an answer. */
export class OpenResponses {
  readonly #connections = new WeakMap<Duplex, Set<ServerResponse>>();

  add(socket: Duplex, res: ServerResponse): void {
    const open = this.#connections.get(socket) ?? this.#connection(socket);
    open.add(res);
    res.once("close", () => open.delete(res));
  }

  /** Whether a response of the connection has begun, or waits for one that was asked for before. */
  begun(socket: Duplex): boolean {
    const open = this.#connections.get(socket) ?? [];
    return [...open].some((res) => res.headersSent || res.socket === null);
  }

  #connection(socket: Duplex): Set<ServerResponse> {
    const open = new Set<ServerResponse>();
    this.#connections.set(socket, open);
    socket.once("close", () => {
      // Node closes the response that the socket was given to alone. Those behind it would run on and never close.
      for (const res of open) {
        if (res.socket !== null || res.writableFinished) continue;
        res.destroy();
        res.emit("close");
      }
    });
    return open;
  }
}
