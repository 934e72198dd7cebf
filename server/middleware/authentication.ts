import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { type Caller, LOCAL_OWNER } from "../../ledger/key.ts";

const callers = new WeakMap<IncomingMessage, Caller>();
const ANYONE: Caller = { owner: LOCAL_OWNER, key: null };

/** While API keys are off, whoever reaches the server is its owner. */
export const withoutKeys: RequestHandler = (req, _res, next) => {
  callers.set(req, ANYONE);
  next();
};

/** Throws when the request did not pass the authentication: that is a fault of this server. */
export function callerOf(req: IncomingMessage): Caller {
  const caller = callers.get(req);
  if (caller === undefined) throw new Error("the request has no caller");
  return caller;
}
