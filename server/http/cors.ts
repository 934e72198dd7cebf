import type { RequestHandler } from "express";

const EXPOSED = [
  ...["x-request-id", "openai-processing-ms", "openai-version", "retry-after", "retry-after-ms", "location"],
  ...["limit", "remaining", "reset"].flatMap((of) => [`x-ratelimit-${of}-requests`, `x-ratelimit-${of}-tokens`]),
  ...["preference-applied", "x-nightshift-budget-warning", "x-nightshift-next-page"],
  ...["x-should-retry", "content-range"],
].join(", ");
const MAX_AGE_SECONDS = "600";

/** Allows pages of the named origins to call the server. With none named, no header is sent, and browsers refuse others. */
export function cors(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  return (req, res, next) => {
    const origin = req.headers.origin;
    if (allowed.size === 0 || origin === undefined) return next();
    res.setHeader("vary", "Origin");
    if (!allowed.has("*") && !allowed.has(origin)) return next();
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
