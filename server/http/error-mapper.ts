import type { ErrorRequestHandler, RequestHandler } from "express";
import { ApiError } from "../../openapi/api-error.ts";
import type { Log } from "../../platform/log.ts";
import { ClientGone } from "./connection/client-gone.ts";
import { contextOf } from "./context/request-context.ts";
import { pathAdvice } from "./path-advice.ts";
import { sendError } from "./respond.ts";

/** The one place where an error becomes a response. Any error but an ApiError is logged, and answered without its details. */
export function errorMapper(log: Log): ErrorRequestHandler {
  return (thrown: unknown, req, res, _next) => {
    // The client disconnected, which is no error.
    if (thrown instanceof ClientGone) return;
    const error = thrown instanceof ApiError ? thrown : asApiError(thrown);
    const requestId = contextOf(req).id;
    const { status, code, param } = error;
    if (thrown !== error) log.error({ requestId, status, code, err: thrown }, "request failed");
    else if (status >= 500 && status !== 503) log.error({ requestId, status, code }, "request failed");
    // Overload is no error, and a flood of refusals must not become a flood of lines. An unavailable model or store logs
    // its reason itself.
    else log.debug({ requestId, status, code, param }, "request refused");
    if (res.headersSent) res.destroy();
    else if (!res.destroyed) sendError(req, res, error);
  };
}

/** Express and its router throw errors with a status for an invalid URL. */
function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof URIError) {
    const message = "The URL is not valid.";
    return new ApiError("invalid_url", message);
  }
  const message = "The server had an error while processing your request.";
  return new ApiError("internal_error", message);
}

export const unknownRoute: RequestHandler = (req) => {
  const message = `Unknown request URL: ${req.method} ${req.path.slice(0, 256)}.${pathAdvice(req.path)}`;
  throw new ApiError("unknown_url", message);
};
