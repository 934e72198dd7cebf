import type { ServerResponse } from "node:http";

/**
 * Destroys the connection when its client reads nothing for `ms` while written bytes wait. Node restarts the timer of a
 * socket whenever the kernel takes some of a write, so a steady reader may be slow. The timer runs only while the kernel's
 * buffer is full: a fast reader costs none.
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
