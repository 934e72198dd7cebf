import { basename, isAbsolute } from "node:path";
import type { ChildServer } from "../target/child-server.ts";
import { peerArms, startLlamaServer } from "../target/llama-server.ts";
import { startServer } from "../target/server-process.ts";
import { connect, parseTarget, type Target } from "../target/target.ts";
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
  own: Target;
  peers: Target[];
  servers: SuiteReport["servers"];
  stop: () => Promise<void>;
}

/** Of the peers, those that it starts come first, then those that run already. */
export async function startServers(options: ServerOptions, preset: Preset, gguf: string): Promise<Servers> {
  const children: ChildServer[] = [];
  const stop = async () => {
    for (const child of children) await child.stop();
  };
  const peers: Target[] = [];
  const servers: SuiteReport["servers"] = [];
  const add = async (label: string, base: URL, model: string | undefined, command: string) => {
    // llama-server promises keep-alive and does not hold it; see target.ts
    const target = await connect(label, base, model, false);
    servers.push({ label, command });
    return target;
  };
  const { sequences, context, threads } = preset;
  try {
    const usual = ["--sequences", String(sequences), "--context", String(context)];
    if (threads !== null) usual.push("--threads", String(threads));
    usual.push(...(options.serverArgs?.split(/\s+/).filter(Boolean) ?? []));
    const addOwn = async (label: string, args: string[]) => {
      const server = await startServer(gguf, args);
      children.push(server);
      return add(label, server.base, "bench", `nightshift serve --model ${withoutFolder(gguf)} ${args.join(" ")}`);
    };
    const own = await addOwn("nightshift", usual);
    if (options.llamaServer) {
      const where = threads === null ? ["-ngl", "999"] : ["-t", String(threads)];
      const room = { gguf, sequences, cells: sequences * context, options: where };
      for (const [label, arm] of Object.entries(peerArms(room))) {
        const child = await startLlamaServer(options.llamaServer, room, arm);
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
