import { isIP } from "node:net";
import type { RequestHandler } from "express";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { isLoopback, plainHost } from "../../platform/loopback.ts";

/**
 * Prevents DNS rebinding: a page at evil.example whose name resolves to 127.0.0.1 reaches this server with its own name in
 * Host. An IP address in Host is accepted: no name can be pointed elsewhere, and health probes send nothing else. Ports are
 * not compared, since they may be forwarded.
 */
export function hostCheck(boundHost: string, allowedHosts: readonly string[]): RequestHandler {
  const names = new Set(["localhost", ...allowedHosts.map((name) => name.toLowerCase())]);
  const checks = isLoopback(boundHost) || allowedHosts.length > 0;
  return (req, _res, next) => {
    const { host } = req.headers;
    const given = req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
    // Only HTTP/1.0 allows a request without Host (RFC 9112, 3.2), and no browser uses that.
    if (given.length > 1 || (host === undefined && req.httpVersion !== "1.0")) {
      throw invalidRequest("malformed_request", null, "The request must have one Host header.");
    }
    if (!checks || host === undefined) return next();
    const name = plainHost(host.replace(/:\d*$/, ""));
    if (isIP(name) !== 0 || names.has(name)) return next();
    const message = "This server does not answer to the host name of the request; --allowed-host adds one.";
    throw new ApiError("host_not_allowed", message);
  };
}
