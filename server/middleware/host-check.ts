import type { RequestHandler } from "express";
import { ApiError } from "../../openapi/api-error.ts";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/**
 * Against DNS rebinding: a page at evil.example whose name resolves to 127.0.0.1 reaches this server with its own name
 * in Host. Ports are not compared: they may be forwarded.
 */
export function hostCheck(boundHost: string, allowedHosts: readonly string[]): RequestHandler {
  const names = new Set([...LOOPBACK_NAMES, ...allowedHosts.map((name) => name.toLowerCase())]);
  if (isLoopback(boundHost)) names.add(boundHost.includes(":") ? `[${boundHost}]` : boundHost);
  const checks = isLoopback(boundHost) || allowedHosts.length > 0;
  return (req, _res, next) => {
    const host = req.headers.host;
    // Only HTTP/1.0 may come without Host, and no browser speaks it.
    if (!checks || host === undefined || names.has(host.replace(/:\d*$/, "").toLowerCase())) return next();
    const message = "This server does not answer to the host name of the request; --allowed-host adds one.";
    throw new ApiError({ status: 421, type: "invalid_request_error", code: "host_not_allowed", message });
  };
}
