import type { ErrorRequestHandler, RequestHandler } from "express";
import { ApiError } from "../../openapi/api-error.ts";
import type { Log } from "../../platform/log.ts";
import { ClientGone } from "./connection/client-gone.ts";
import { contextOf } from "./context/request-context.ts";
import { pathAdvice } from "./path-advice.ts";
import { sendError } from "./respond.ts";

/** The one place where an error becomes a response. What is not an ApiError is ours: logged, and told without its inside. */
export function errorMapper(log: Log): ErrorRequestHandler {
  return (thrown: unknown, req, res, _next) => {
    // Nobody is left to answer, and clients may leave.
    if (thrown instanceof ClientGone) return;
    const error = thrown instanceof ApiError ? thrown : asApiError(thrown);
    const requestId = contextOf(req).id;
    const { status, code, param } = error;
    if (thrown !== error) log.error({ requestId, status, code, err: thrown }, "request failed");
    else if (status >= 500 && status !== 503) log.error({ requestId, status, code }, "request failed");
    // Too much at once is no fault, and a flood of it shall not be one of lines too; what makes a model or the store
    // unavailable says so itself.
    else log.debug({ requestId, status, code, param }, "request refused");
    if (res.headersSent) res.destroy();
    else if (!res.destroyed) sendError(req, res, error);
  };
}

/** Express and its router say what is wrong with a URL by errors that carry a status. */
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
