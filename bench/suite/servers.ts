import { basename, isAbsolute } from "node:path";
import type { ChildServer } from "../target/child-server.ts";
import { peerArms, startLlamaServer } from "../target/llama-server.ts";
import { startServer } from "../target/server-process.ts";
import { connect, parseTarget, type Target } from "../target/target.ts";
import type { SuiteReport } from "./document.ts";
import type { Preset } from "./preset.ts";

export interface ServerOptions {
  /** Running servers, as `[label=]url`. */
  peer: string[];
  /** Binary of the peers that the suite starts. */
  llamaServer?: string;
  /** Further options of this project's server, in one string. */
  serverArgs?: string;
}

/** A report names what ran without its folder on the machine. */
export function withoutFolder(argument: string): string {
  return isAbsolute(argument) ? `…/${basename(argument)}` : argument;
}

export interface Servers {
  own: Target;
  peers: Target[];
  servers: SuiteReport["servers"];
  stop: () => Promise<void>;
}

/** Starts and connects the servers. Started peers come first, then those that were already running. */
export async function startServers(options: ServerOptions, preset: Preset, gguf: string): Promise<Servers> {
  const children: ChildServer[] = [];
  const stop = async () => {
    for (const child of children) await child.stop();
  };
  const peers: Target[] = [];
  const servers: SuiteReport["servers"] = [];
  const add = async (label: string, base: URL, model: string | undefined, command: string) => {
    // llama-server announces keep-alive but closes connections; see target.ts
    const target = await connect(label, base, model, false);
    servers.push({ label, command });
    return target;
  };
  const { sequences, context, threads } = preset;
  try {
    const defaults = ["--sequences", String(sequences), "--context", String(context)];
    if (threads !== null) defaults.push("--threads", String(threads));
    defaults.push(...(options.serverArgs?.split(/\s+/).filter(Boolean) ?? []));
    const addOwn = async (label: string, args: string[]) => {
      const server = await startServer({ bench: gguf }, args);
      children.push(server);
      return add(label, server.base, "bench", `nightshift serve --model ${withoutFolder(gguf)} ${args.join(" ")}`);
    };
    const own = await addOwn("nightshift", defaults);
    if (options.llamaServer) {
      const where = threads === null ? ["-ngl", "999"] : ["-t", String(threads)];
      const settings = { gguf, sequences, cells: sequences * context, options: where };
      for (const [label, arm] of Object.entries(peerArms(settings))) {
        const child = await startLlamaServer(options.llamaServer, settings, arm);
        children.push(child);
        const command = `llama-server -m ${withoutFolder(gguf)} ${[...where, ...arm].join(" ")}`;
        peers.push(await add(label, child.base, undefined, command));
      }
    }
    for (const [i, peer] of options.peer.entries()) {
      const { label, base } = parseTarget(peer, i === 0 ? "peer" : `peer-${i + 1}`);
      peers.push(await add(label, base, undefined, base.href));
    }
    return { own, peers, servers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
