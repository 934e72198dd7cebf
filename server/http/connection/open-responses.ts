import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The open responses of each connection: a client may pipeline requests. */
export class OpenResponses {
  readonly #connections = new WeakMap<Duplex, Set<ServerResponse>>();

  add(socket: Duplex, res: ServerResponse): void {
    const open = this.#connections.get(socket) ?? this.#connection(socket);
    open.add(res);
    res.once("close", () => open.delete(res));
  }

  /** True when a response of the connection has begun, or waits for an earlier one. */
  begun(socket: Duplex): boolean {
    const open = this.#connections.get(socket) ?? [];
    return [...open].some((res) => res.headersSent || res.socket === null);
  }

  #connection(socket: Duplex): Set<ServerResponse> {
    const open = new Set<ServerResponse>();
    this.#connections.set(socket, open);
    socket.once("close", () => {
      // Node closes only the response that has the socket. The ones behind it would never emit "close".
      for (const res of open) {
        if (res.socket !== null || res.writableFinished) continue;
        res.destroy();
        res.emit("close");
      }
    });
    return open;
  }
}
