import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { ApiError } from "../../../openapi/api-error.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { BodyMemory } from "./body-memory.ts";

export interface RequestContext {
  /** The value of x-request-id: the client's own where it is safe to echo and to log, else a new one. */
  readonly id: string;
  /** Clock.now() when the headers were parsed, before the body was read: TTFT starts here. */
  readonly arrivedAt: number;
  readonly clock: Clock;
  readonly bodies: BodyMemory;
}

const contexts = new WeakMap<IncomingMessage, RequestContext>();

const SAFE_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const MAX_HEADERS = 100;

/** The first middleware: notes the arrival, gives the request its id, sets the headers of every response. */
export function requestContext(clock: Clock, randomId: () => string, bodies: BodyMemory): RequestHandler {
  return (req, res, next) => {
    const arrivedAt = clock.now();
    const wished = req.headers["x-request-id"];
    const id = typeof wished === "string" && SAFE_ID.test(wished) ? wished : `req_${randomId()}`;
    contexts.set(req, { id, arrivedAt, clock, bodies });
    res.setHeader("x-request-id", id);
    // The name that Anthropic's clients read.
    res.setHeader("request-id", id);
    res.setHeader("openai-version", "2020-10-01");
    // Answers contain prompts and results: no cache may keep them, and no browser may guess their type.
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

/** Throws for a request that did not pass requestContext, which is a fault of this server. */
export function contextOf(req: IncomingMessage): RequestContext {
  const context = contexts.get(req);
  if (context === undefined) throw new Error("the request has no context");
  return context;
}

/** Sets the header with the milliseconds from the arrival until now, which is when the head is written. */
export function stampProcessingTime(req: IncomingMessage, res: ServerResponse): void {
  const context = contexts.get(req);
  if (context === undefined) return;
  res.setHeader("openai-processing-ms", Math.round(context.clock.now() - context.arrivedAt));
}
