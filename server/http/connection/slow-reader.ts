import type { ServerResponse } from "node:http";

/**
 * Destroys the connection when its client reads nothing of what is written for `ms`. Node's timer of a socket starts anew
 * whenever the kernel took some of a write, so whoever reads steadily may be slow. Armed only when the kernel's buffer is
 * full, so a reader that keeps up never costs a timer.
 */
export function dropWhenStalled(res: ServerResponse, ms: number): void {
  if (res.writableLength === 0 || res.socket === null) return;
  const { socket } = res;
  const drop = () => res.destroy();
  socket.setTimeout(ms, drop);
  const disarm = () => {
    socket.off("timeout", drop);
    // Once an answer is finished, Node has set the time that an idle connection is kept.
    if (!res.writableFinished) socket.setTimeout(0);
    res.off("drain", disarm);
    res.off("close", disarm);
    res.off("finish", disarm);
  };
  for (const event of ["drain", "finish", "close"] as const) res.once(event, disarm);
}
