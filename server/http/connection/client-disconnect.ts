import type { ServerResponse } from "node:http";
import { ClientGone } from "./client-gone.ts";

/** Aborted, with a ClientGone, when the client disconnects before the whole answer was sent. */
export function disconnectSignal(res: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  // A response that is over emits no further event.
  if (res.destroyed) disconnected.abort(new ClientGone());
  // Not after every answer: an abort makes an error with its stack, which costs as much as checking the body.
  res.once("close", () => {
    if (!res.writableFinished) disconnected.abort(new ClientGone());
  });
  return disconnected.signal;
}
