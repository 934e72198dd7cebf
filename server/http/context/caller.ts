import type { IncomingMessage } from "node:http";
import type { Caller } from "../../../ledger/key.ts";

const callers = new WeakMap<IncomingMessage, Caller>();

export function setCaller(req: IncomingMessage, caller: Caller): void {
  callers.set(req, caller);
}

/** Throws for a request that did not pass the authentication, which is a fault of this server. */
export function callerOf(req: IncomingMessage): Caller {
  const caller = callers.get(req);
  if (caller === undefined) throw new Error("the request has no caller");
  return caller;
}
