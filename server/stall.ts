import type { ServerResponse } from "node:http";

/**
 * Destroys the connection unless the client reads all that is written within `ms`. Returns what calls it off. Armed only
 * when the kernel's buffer is full, so a reader that keeps up never costs a timer.
 */
export function dropWhenStalled(res: ServerResponse, ms: number): () => void {
  const timer = setTimeout(() => res.destroy(), ms);
  const disarm = () => {
    clearTimeout(timer);
    res.off("drain", disarm);
    res.off("close", disarm);
  };
  res.once("drain", disarm);
  res.once("close", disarm);
  return disarm;
}
