import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { ApiError } from "../../../openapi/api-error.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { BodyMemory } from "./body-memory.ts";

export interface RequestContext {
  /** What x-request-id says: the client's own where it is safe to echo and to log, else one of ours. */
  readonly id: string;
  /** Clock.now() when the headers were parsed, before the body was read: TTFT starts here. */
  readonly arrivedAt: number;
  readonly clock: Clock;
  readonly bodies: BodyMemory;
}

const contexts = new WeakMap<IncomingMessage, RequestContext>();

const SAFE_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const MAX_HEADERS = 100;

/** Goes first: notes the arrival, names the request, sets the headers that every response carries. */
export function requestContext(clock: Clock, randomId: () => string, bodies: BodyMemory): RequestHandler {
  return (req, res, next) => {
    const arrivedAt = clock.now();
    const wished = req.headers["x-request-id"];
    const id = typeof wished === "string" && SAFE_ID.test(wished) ? wished : `req_${randomId()}`;
    contexts.set(req, { id, arrivedAt, clock, bodies });
    res.setHeader("x-request-id", id);
    res.setHeader("openai-version", "2020-10-01");
    // Answers are somebody's prompts and results: no cache keeps them, and no browser guesses what they are.
    res.setHeader("cache-control", "no-store");
    res.setHeader("x-content-type-options", "nosniff");
    if (req.rawHeaders.length > 2 * MAX_HEADERS) {
      const message = `The request has more than ${MAX_HEADERS} headers.`;
      throw new ApiError("headers_too_large", message);
    }
    const { expect } = req.headers;
    if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
      const message = "The only expectation that can be met is 100-continue.";
      throw new ApiError("expectation_failed", message);
    }
    next();
  };
}

/** Throws when the request did not pass requestContext: that is a fault of this server. */
export function contextOf(req: IncomingMessage): RequestContext {
  const context = contexts.get(req);
  if (context === undefined) throw new Error("the request has no context");
  return context;
}

/** Whole milliseconds from the arrival until now, which is when the response's head is written. */
export function stampProcessingTime(req: IncomingMessage, res: ServerResponse): void {
  const context = contexts.get(req);
  if (context === undefined) return;
  res.setHeader("openai-processing-ms", Math.round(context.clock.now() - context.arrivedAt));
}
