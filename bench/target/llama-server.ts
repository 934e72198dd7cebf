import { type ChildServer, startChild } from "./child-server.ts";

/** Settings that an arm of llama-server shares with the compared server. */
export interface PeerSettings {
  gguf: string;
  sequences: number;
  /** Tokens of all sequences together. */
  cells: number;
  /** Options of every arm, such as threads or GPU layers. */
  options: string[];
}

/**
 * The configurations to compare with, by label: `np` has a split cache, the fastest for distinct prompts, and otherwise
 * defaults; `unified` has one shared cache, smaller batches and sampling in the graph.
 */
export function peerArms({ sequences, cells }: PeerSettings): Record<string, string[]> {
  const size = ["-np", String(sequences), "-c", String(cells)];
  return {
    "llama-server np": size,
    "llama-server unified": [...size, ..."-kvu -b 512 -ub 512 -bs --cache-ram 0 --no-cache-idle-slots".split(" ")],
  };
}

/** Starts one arm and waits until its model is loaded. */
export async function startLlamaServer(
  binary: string,
  settings: Pick<PeerSettings, "gguf" | "options">,
  arm: string[],
): Promise<ChildServer> {
  return startChild(
    (port) => [binary, "-m", settings.gguf, "--port", String(port), ...settings.options, ...arm],
    "/health",
  );
}
