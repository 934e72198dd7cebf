import type { ListenOptions } from "../../../../../server/http/connection/listen.ts";

/** A free port of loopback, with bounds that no test reaches. */
export const ANY_PORT: ListenOptions = {
  host: "127.0.0.1",
  port: 0,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  maxConnections: 1000,
};
