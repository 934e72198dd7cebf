import type { Request, RequestHandler } from "express";
import { ApiError } from "../../openapi/api-error.ts";

/**
 * Without API keys, a page of any origin could call this server through its user's browser: a form with a file needs no
 * preflight. Browsers send the origin of a request (Origin, Fetch Metadata). Requests from origins other than the server's
 * own and those of `--cors-origin` are refused; following a link to this server is allowed.
 */
export function originCheck(allowedOrigins: readonly string[]): RequestHandler {
  const allowed = new Set(allowedOrigins);
  return (req, _res, next) => {
    if (allowed.has("*") || !isForeign(req, allowed)) return next();
    const message =
      "A web page of another origin may not call a server without API keys. --cors-origin names the origins that may.";
    throw new ApiError("origin_not_allowed", message);
  };
}

function isForeign(req: Request, allowed: ReadonlySet<string>): boolean {
  const { origin, host } = req.headers;
  if (origin !== undefined) return !allowed.has(origin) && !isOwn(origin, host);
  const isLink = req.method === "GET" && req.headers["sec-fetch-mode"] === "navigate";
  return req.headers["sec-fetch-site"] === "cross-site" && !isLink;
}

/** The scheme is not compared: a proxy may add TLS. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1] === host.toLowerCase();
}
