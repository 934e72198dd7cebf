import { basename, isAbsolute } from "node:path";
import type { ChildServer } from "../child-server.ts";
import { peerArms, startLlamaServer } from "../llama-server.ts";
import { startServer } from "../server-process.ts";
import { connect, parseTarget, type Target } from "../target.ts";
import type { SuiteReport } from "./document.ts";
import type { Preset } from "./preset.ts";

export interface ServerOptions {
  /** Servers that run already, as `[label=]url`. */
  peer: string[];
  /** The binary of the peers that the suite starts. */
  llamaServer?: string;
  /** Further options for this project's server, in one string. */
  serverArgs?: string;
}

/** A report says what ran, not where it lay on somebody's machine. */
export function withoutFolder(argument: string): string {
  return isAbsolute(argument) ? `…/${basename(argument)}` : argument;
}

export interface Servers {
  targets: Target[];
  servers: SuiteReport["servers"];
  stop: () => Promise<void>;
}

/** This server first, then the peers that it starts, then those that run already. */
export async function startServers(options: ServerOptions, preset: Preset, gguf: string): Promise<Servers> {
  const children: ChildServer[] = [];
  const stop = async () => {
    for (const child of children) await child.stop();
  };
  const targets: Target[] = [];
  const servers: SuiteReport["servers"] = [];
  const add = async (label: string, base: URL, model: string | undefined, command: string) => {
    // llama-server promises keep-alive and does not hold it; see target.ts
    targets.push(await connect(label, base, model, false));
    servers.push({ label, command });
  };
  const { sequences, context, threads } = preset;
  try {
    const own = ["--sequences", String(sequences), "--context", String(context)];
    if (threads !== null) own.push("--threads", String(threads));
    own.push(...(options.serverArgs?.split(/\s+/).filter(Boolean) ?? []));
    const server = await startServer(gguf, own);
    children.push(server);
    await add("nightshift", server.base, "bench", `nightshift serve --model ${withoutFolder(gguf)} ${own.join(" ")}`);
    if (options.llamaServer) {
      const where = threads === null ? ["-ngl", "999"] : ["-t", String(threads)];
      const room = { gguf, sequences, cells: sequences * context, options: where };
      for (const [label, arm] of Object.entries(peerArms(room))) {
        const child = await startLlamaServer(options.llamaServer, room, arm);
        children.push(child);
        await add(
          label,
          child.base,
          undefined,
          `llama-server -m ${withoutFolder(gguf)} ${[...where, ...arm].join(" ")}`,
        );
      }
    }
    for (const [i, peer] of options.peer.entries()) {
      const { label, base } = parseTarget(peer, i === 0 ? "peer" : `peer-${i + 1}`);
      await add(label, base, undefined, base.href);
    }
    return { targets, servers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
