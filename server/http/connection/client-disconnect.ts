import type { ServerResponse } from "node:http";
import { ClientGone } from "./client-gone.ts";

/** Aborted, with a ClientGone, when the client leaves before it has the whole answer. */
export function departure(res: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Nothing more would be told of a response that is over.
  if (res.destroyed) gone.abort(new ClientGone());
  // Not after every answer: an abort makes an error with its stack, which costs as much as checking the body.
  res.once("close", () => {
    if (!res.writableFinished) gone.abort(new ClientGone());
  });
  return gone.signal;
}
