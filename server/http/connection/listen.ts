import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { isLoopback } from "../../../platform/loopback.ts";
import { limitBodyTime } from "./body-timeout.ts";
import { LingeringResponses } from "./lingering.ts";
import { OpenResponses } from "./open-responses.ts";
import { refuseConnection } from "./refuse-connection.ts";
import { listenOnPath } from "./unix-socket.ts";

export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Path of a Unix socket, in place of host and port. */
  path?: string | null;
  /** An open listening socket in place of all of these: a restart then refuses no connection. */
  fd?: number | null;
  /** Milliseconds for all headers of a request to arrive; then 408. */
  headersTimeoutMs: number;
  /** Milliseconds for a request's body to arrive; then 408. Forms with files have a least rate instead. */
  requestTimeoutMs: number;
  /** Milliseconds that an idle connection is kept; longer than usual load balancers keep theirs. */
  keepAliveTimeoutMs: number;
  /** Connections at once; one more is answered 503 and closed. */
  maxConnections: number;
}

export interface Listening {
  /** Such as `http://127.0.0.1:8080`, without a slash at the end; `unix:` and the path of a Unix socket. */
  readonly url: string;
  /** 0 on a Unix socket. */
  readonly port: number;
  /** From now on each answer announces that its connection will be closed; requests are still served. */
  announceClose(): void;
  /**
   * Waits at most `graceMs` for running responses to finish; then `giveUp` ends the others with an error. After that it
   * accepts no connection and destroys the open ones. Until then new requests are answered, so that /ready reports the
   * shutdown to load balancers.
   */
  close(graceMs: number, giveUp?: () => Promise<unknown>): Promise<void>;
}

/** One header more than the 100 that are allowed, so that the app can detect too many: Node drops the rest silently. */
const MAX_HEADERS = 101;

/** Milliseconds for clients to read the error of a response that was ended. */
const FINAL_ERROR_MS = 1000;

/** Most refused connections to which the refusal is still being sent. */
const MOST_REFUSED_AT_ONCE = 64;

/** Serves the app. Rejects when the address cannot be bound. */
export async function listen(app: RequestListener, options: ListenOptions): Promise<Listening> {
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: options.headersTimeoutMs,
    // limitBodyTime does it, request by request.
    requestTimeout: 0,
    // Milliseconds between Node's checks for overdue requests; its default of 30 s would double the timeouts above.
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    noDelay: true,
    // hostCheck does it, with an error body.
    requireHostHeader: false,
  });
  server.maxHeadersCount = MAX_HEADERS;
  limitConnections(server, options.maxConnections);

  let announced = false;
  let closing = false;
  let running = 0;
  let drained = () => {};
  const responses = new OpenResponses();
  const lingering = new LingeringResponses();
  const inFlight = new Set<ServerResponse>();
  // A request on a connection that was announced as reusable would be reset.
  const announceClose = () => {
    announced = true;
    for (const res of inFlight) res.shouldKeepAlive = false;
  };
  const handle: RequestListener = (req, res) => {
    // Node still parses requests that arrived before the end of the connection. They cannot be answered, and a response
    // that ends out of order fails an assertion of Node, which ends the process.
    if (!req.socket.writable) return;
    responses.add(req.socket, res);
    lingering.add(res);
    // Requests that arrive while the server closes are short, and must not delay the end.
    const awaited = !closing;
    if (announced) res.shouldKeepAlive = false;
    inFlight.add(res);
    if (awaited) running++;
    // Connections that were busy when the server closed become idle one by one.
    res.once("close", () => {
      inFlight.delete(res);
      if (awaited && --running === 0) drained();
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    limitBodyTime(req, options.requestTimeoutMs, () => {
      refuseConnection({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, req.socket, responses.begun(req.socket));
    });
    app(req, res);
  };
  server.on("request", handle);
  // Node would send 100 Continue by itself; the body reader sends it after all checks that need no body.
  server.on("checkContinue", handle);
  server.on("checkExpectation", handle);
  server.on("connect", (_req, socket: Duplex) => {
    // Node has removed its own listener.
    socket.on("error", () => {});
    refuseConnection({ code: "CONNECT_METHOD" }, socket, false);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    refuseConnection(error, socket, responses.begun(socket));
  });

  await bind(server, options);
  const address = server.address()!;
  return {
    url: urlOf(address, options.host),
    port: typeof address === "string" ? 0 : address.port,
    announceClose,
    async close(graceMs, giveUp) {
      announceClose();
      closing = true;
      lingering.end();
      const deadline = performance.now() + graceMs;
      if (running > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, graceMs);
          drained = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      await giveUp?.();
      const least = giveUp === undefined ? 0 : FINAL_ERROR_MS;
      await closeServer(server, Math.max(least, deadline - performance.now()));
    },
  };
}

/** Node closes connections over its limit without an answer. Its limit is set higher, so that most of them are answered. */
function limitConnections(server: Server, most: number): void {
  let open = 0;
  server.maxConnections = most + MOST_REFUSED_AT_ONCE;
  server.prependListener("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
    if (open > most) refuseConnection({ code: "TOO_MANY_CONNECTIONS" }, socket, false);
  });
}

function urlOf(address: AddressInfo | string, host: string): string {
  if (typeof address === "string") return `unix:${address}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

function bind(server: Server, { host, port, path = null, fd = null }: ListenOptions): Promise<void> {
  if (fd === null && path !== null) return listenOnPath(server, path);
  return new Promise((resolve, reject) => {
    const bound = () => {
      server.off("error", reject);
      const mismatch = fd === null ? null : whyNotServed(server.address(), host);
      if (mismatch === null) return resolve();
      server.close();
      reject(new Error(mismatch));
    };
    server.once("error", reject);
    if (fd === null) server.listen(port, host, bound);
    else server.listen({ fd }, bound);
  });
}

/** Keys, /metrics and the Host check depend on --host: a public socket must not be served as one of loopback. */
function whyNotServed(address: AddressInfo | string | null, host: string): string | null {
  if (address === null || typeof address === "string")
    return "the inherited socket is none of TCP; --uds listens on another";
  if (isLoopback(address.address) || !isLoopback(host)) return null;
  return `the inherited socket listens on ${address.address}; say so with --host ${address.address}`;
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** The reason for which an address could not be bound, with advice. */
export function whyNotListening(
  error: unknown,
  { host, port, path }: Pick<ListenOptions, "host" | "port" | "path">,
): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (path != null) {
    return `Cannot listen on --uds ${path}: ${error instanceof Error ? error.message : String(error)}.`;
  }
  if (code === "EADDRINUSE") {
    return `Port ${port} on ${host} is taken by another process. Choose another: --port ${port + 1} (or --port 0 for any free one).`;
  }
  if (code === "EACCES")
    return `Port ${port} needs more rights than this process has. Choose one from 1024 up with --port.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `--host ${host} is no address of this machine.`;
  return `Cannot listen on ${host}, port ${port}: ${error instanceof Error ? error.message : String(error)}`;
}
