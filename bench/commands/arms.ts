import { type Command, Option } from "commander";
import type { Endpoint } from "../prompts/prompt.ts";
import type { ChildServer } from "../target/child-server.ts";
import { type OwnServer, startServer } from "../target/server-process.ts";
import { connect, parseTarget, type Target } from "../target/target.ts";
import { whole } from "./arguments.ts";

/** The options of all commands that measure servers. */
export interface ArmOptions {
  url: string;
  model?: string;
  gguf?: string;
  serverArgs?: string;
  endpoint: Endpoint;
  seed: number;
  keepAlive?: boolean;
  json?: string;
}

export interface PeerOptions {
  peer: string[];
  peerModel?: string;
  repeats: number;
}

/** The options of commands that also measure the server's process. */
export interface ProcessOptions {
  pid?: number;
}

export interface Arms {
  /** This server first. */
  targets: Target[];
  /** Set when the benchmark started this server itself. */
  server: OwnServer | null;
}

export function addArmOptions(command: Command, endpoint: Endpoint): Command {
  return command
    .option("--url <url>", "this server, as http://host:port/v1", "http://127.0.0.1:8080/v1")
    .option("--model <name>", "the model's name at this server (default: the first of /models)")
    .option("--gguf <file>", "start this server with the file, measure it, and stop it; replaces --url")
    .option("--server-args <options>", "options for the server that --gguf starts, in one string")
    .addOption(
      new Option("--endpoint <kind>", "endpoint of the requests").choices(["completions", "chat"]).default(endpoint),
    )
    .option("--keep-alive", "reuse connections on every server; llama-server does not support it")
    .option("--seed <n>", "the same seed gives the same prompts", whole(0), 1)
    .option("--json <file>", "also write the figures of every repeat to this file");
}

export function addPeerOptions(command: Command): Command {
  const collect = (text: string, all: string[]) => [...all, text];
  return command
    .option("--peer <[label=]url>", "an OpenAI-compatible server to compare with; repeatable", collect, [])
    .option("--peer-model <name>", "the model's name at the peers (default: the first of their /models)")
    .option("--repeats <n>", "repeats per server, interleaved", whole(1), 3);
}

export function addProcessOptions(command: Command): Command {
  return command.option("--pid <pid>", "the server's process id, without --gguf", whole(1));
}

/** Connects to the servers, runs `measure`, and stops the started server in every case. */
export async function withArms<T>(
  options: ArmOptions & Partial<PeerOptions>,
  measure: (arms: Arms) => Promise<T>,
): Promise<T> {
  const server = options.gguf
    ? await startServer({ bench: options.gguf }, options.serverArgs?.split(/\s+/).filter(Boolean) ?? [])
    : null;
  const keepAlive = options.keepAlive ?? false;
  const targets: Target[] = [];
  try {
    const base = server?.base ?? parseTarget(options.url, "").base;
    targets.push(await connect("nightshift", base, server ? "bench" : options.model, keepAlive));
    for (const [i, peer] of (options.peer ?? []).entries()) {
      const { label, base } = parseTarget(peer, i === 0 ? "peer" : `peer-${i + 1}`);
      targets.push(await connect(label, base, options.peerModel, keepAlive));
    }
    return await measure({ targets, server });
  } finally {
    for (const target of targets) target.agent.destroy();
    await server?.stop();
  }
}

/** The same for this server and its process. Throws when no option names the process. */
export function withProcess<T>(
  options: ArmOptions & ProcessOptions,
  measure: (arm: { target: Target; pid: number; server: ChildServer | null }) => Promise<T>,
): Promise<T> {
  return withArms(options, async ({ targets, server }) => {
    const pid = options.pid ?? server?.pid;
    if (pid === undefined) throw new Error("give --pid with the server's process id, or --gguf to start a server");
    return await measure({ target: targets[0]!, pid, server });
  });
}
