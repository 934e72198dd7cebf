import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestHandler } from "express";
import type { Registry } from "prom-client";
import { ApiError } from "../../openapi/api-error.ts";
import { isLoopback } from "../../platform/loopback.ts";

/**
 * Needs its own bearer token where one is set; without one it is open when the server is bound to loopback, and closed
 * elsewhere. A token is required on loopback too: a proxy on this machine may open the page to the network.
 */
export function metrics(registry: Registry, boundHost: string, token: string | null): RequestHandler {
  const open = token === null && isLoopback(boundHost);
  const expected = token === null ? null : digest(`Bearer ${token}`);
  return async (req, res) => {
    if (!open && !matches(req.headers.authorization, expected)) {
      res.setHeader("www-authenticate", "Bearer");
      const lacking = token === null ? " The server has none: --metrics-token sets it." : "";
      const message = `Metrics need the server's metrics token: Authorization: Bearer <token>.${lacking}`;
      throw new ApiError("invalid_api_key", message);
    }
    const text = await registry.metrics();
    res.writeHead(200, { "content-type": registry.contentType });
    res.end(req.method === "HEAD" ? undefined : text);
  };
}

function matches(given: string | undefined, expected: Buffer | null): boolean {
  return expected !== null && timingSafeEqual(digest(given ?? ""), expected);
}

/** Digests have one length, which timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
