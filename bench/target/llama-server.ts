import { type ChildServer, startChild } from "./child-server.ts";

/** What an arm of llama-server has in common with the server it is compared with. */
export interface PeerRoom {
  gguf: string;
  sequences: number;
  /** Tokens of all sequences together. */
  cells: number;
  /** Options for every arm, such as threads or the layers on the GPU. */
  options: string[];
}

/**
 * The arms worth comparing with, by their label: `np` has a split cache, which is the fastest for private prompts, and
 * otherwise defaults; `unified` has one cache for all, smaller batches and sampling in the graph.
 */
export function peerArms({ sequences, cells }: PeerRoom): Record<string, string[]> {
  const room = ["-np", String(sequences), "-c", String(cells)];
  return {
    "llama-server np": room,
    "llama-server unified": [...room, ..."-kvu -b 512 -ub 512 -bs --cache-ram 0 --no-cache-idle-slots".split(" ")],
  };
}

/** Starts one arm and waits until its model is loaded. */
export async function startLlamaServer(binary: string, room: PeerRoom, arm: string[]): Promise<ChildServer> {
  return startChild((port) => [binary, "-m", room.gguf, "--port", String(port), ...room.options, ...arm], "/health");
}
