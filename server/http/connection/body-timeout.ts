import type { IncomingMessage } from "node:http";

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Calls back unless the whole body has arrived within `ms`. Node's own requestTimeout is one for all requests, and a timeout
 * that stops a slow chat request would also stop a large file. Uploads lift it, and have a least rate instead.
 */
export function limitBodyTime(req: IncomingMessage, ms: number, overdue: () => void): void {
  if (req.complete) return;
  timers.set(req, setTimeout(overdue, ms));
  const lift = () => liftBodyTime(req);
  req.once("end", lift);
  req.once("close", lift);
}

export function liftBodyTime(req: IncomingMessage): void {
  clearTimeout(timers.get(req));
}
