import { isIP } from "node:net";
import type { Request, RequestHandler } from "express";
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

/**
 * Without API keys, a page of any origin could call this server through its user's browser: a form with a file needs no
 * preflight. Browsers send the origin of a request (Origin, Fetch Metadata). Requests from origins other than the server's
 * own and those of `--cors-origin` are refused; following a link to this server is allowed. `localPages`: paths that pages of
 * this machine may call.
 */
export function originCheck(allowedOrigins: readonly string[], localPages: RegExp | null = null): RequestHandler {
  const allowed = new Set(allowedOrigins);
  return (req, _res, next) => {
    if (allowed.has("*") || !isForeign(req, allowed) || isLocalPage(req, localPages)) return next();
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

/** Schemes of pages that programs on this machine show, and its own host names. */
const LOCAL_ORIGIN =
  /^(?:(?:app|file|tauri|vscode-webview):\/\/|https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?$)/;

/** True if a page of this machine calls one of these paths. */
function isLocalPage({ path, headers: { origin } }: Request, paths: RegExp | null): boolean {
  return paths !== null && origin !== undefined && paths.test(path) && LOCAL_ORIGIN.test(origin);
}

/** The scheme is not compared: a proxy may add TLS. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1] === host.toLowerCase();
}

/** Headers of answers that pages may read. */
const EXPOSED = [
  ...[
    "x-request-id",
    "request-id",
    "openai-processing-ms",
    "openai-version",
    "retry-after",
    "retry-after-ms",
    "location",
  ],
  ...["limit", "remaining", "reset"].flatMap((of) => [`x-ratelimit-${of}-requests`, `x-ratelimit-${of}-tokens`]),
  ...["requests", "tokens"].flatMap((unit) =>
    ["limit", "remaining", "reset"].map((of) => `anthropic-ratelimit-${unit}-${of}`),
  ),
  ...["preference-applied", "x-nightshift-budget-warning", "x-nightshift-ignored"],
  ...["x-nightshift-next-page", "x-should-retry", "content-range"],
].join(", ");
const MAX_AGE_SECONDS = "600";

/**
 * Allows pages of the named origins to call the server, and pages of this machine the paths `localPages`. With none named, no
 * header is sent, and browsers refuse others.
 */
export function cors(origins: readonly string[], localPages: RegExp | null = null): RequestHandler {
  const allowed = new Set(origins);
  return (req, res, next) => {
    const origin = req.headers.origin;
    if (origin === undefined || (allowed.size === 0 && !localPages?.test(req.path))) return next();
    res.setHeader("vary", "Origin");
    if (!allowed.has("*") && !allowed.has(origin) && !isLocalPage(req, localPages)) return next();
    res.setHeader("access-control-allow-origin", origin);
    res.setHeader("access-control-expose-headers", EXPOSED);
    const method = req.headers["access-control-request-method"];
    if (req.method !== "OPTIONS" || method === undefined) return next();
    res.setHeader("access-control-allow-methods", "GET, POST, PATCH, DELETE, OPTIONS");
    const wanted = req.headers["access-control-request-headers"];
    if (wanted !== undefined) res.setHeader("access-control-allow-headers", wanted);
    res.setHeader("access-control-max-age", MAX_AGE_SECONDS);
    res.writeHead(204).end();
  };
}
