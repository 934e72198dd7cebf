import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Operation } from "../../openapi/document/operation.ts";
import type { Log } from "../../platform/log.ts";
import { callerOf } from "./context/caller.ts";
import { contextOf } from "./context/request-context.ts";

/** Tokens and outcome of a request; no prompt and no answer. */
export interface RequestUse {
  model: string;
  tier: string;
  /** Apart from the status: a stream that fails has begun with a 200. */
  outcome: "ok" | "error" | "cancelled";
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

const uses = new WeakMap<IncomingMessage, RequestUse>();

/** Adds the use to the line of the request. */
export function noteUse(req: IncomingMessage, use: RequestUse): void {
  uses.set(req, use);
}

/**
 * Logs one line for each request that was answered, failed or lost its client. Refused requests are not logged at this
 * level: a flood of refusals must not become a flood of lines.
 */
export function accessLog({ method, path }: Operation, log: Log): RequestHandler {
  return (req, res, next) => {
    const write = () => {
      const left = !res.writableFinished;
      const status = res.headersSent ? res.statusCode : null;
      if (!left && (res.statusCode === 503 || (res.statusCode >= 400 && res.statusCode < 500))) return;
      const { id: requestId, arrivedAt, clock } = contextOf(req);
      const { owner, key } = callerOf(req);
      const ms = Math.round(clock.now() - arrivedAt);
      const fields = { requestId, owner, key: key?.id ?? null, method: method.toUpperCase(), path, status, ms };
      log.info({ ...fields, ...(left && { left }), ...uses.get(req) }, "Request");
    };
    // After the listeners that count the usage of a request whose client left.
    res.once("close", () => setImmediate(write));
    next();
  };
}
