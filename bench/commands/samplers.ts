import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { COST_SETTINGS } from "../samplers/cost-settings.ts";
import { addedCost, COSTS_HEAD, costsRow, measureCosts } from "../samplers/sampler-costs.ts";
import { compareSamplers, differenceLines, SAMPLERS_HEAD, samplersRow } from "../samplers/samplers.ts";
import { SETTINGS, type Setting } from "../samplers/settings.ts";
import type { ChildServer } from "../target/child-server.ts";
import { cpuMs } from "../target/cpu-time.ts";
import { startLlamaServer } from "../target/llama-server.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import {
  type ArmOptions,
  type Arms,
  addArmOptions,
  addPeerOptions,
  addProcessOptions,
  type PeerOptions,
  type ProcessOptions,
  withArms,
} from "./arms.ts";

interface Options extends ArmOptions, PeerOptions, ProcessOptions {
  llamaServer?: string;
  llamaServerArgs?: string;
  cost?: boolean;
  only: string;
  requests?: number;
  tokens: number;
  prompt: number;
}

export function samplersCommand(args: string[]): Command {
  const command = new Command("samplers")
    .description("answers under each sampler, compared with those of a llama-server for the same seeds; or its cost")
    .option("--cost", "measure the time per token of each sampler instead; without a peer, this server's only")
    .option("--llama-server <file>", "start this llama-server with the file of --gguf as a peer, and stop it")
    .option("--llama-server-args <options>", "options for it, in one string")
    .option("--only <text>", "only settings with this text in their name", "")
    .option(
      "--requests <n>",
      "requests of each setting, with --cost of each repeat (default: 50, with --cost 5)",
      whole(1),
    )
    .option("--tokens <n>", "tokens that each request generates", whole(2), 32)
    .option("--prompt <tokens>", "tokens of each prompt, with --cost", whole(1), 256);
  return addProcessOptions(addPeerOptions(addArmOptions(command, "completions"))).action(async (options: Options) => {
    const started = await startPeer(options);
    try {
      const peer = [...(started === null ? [] : [`llama-server=${started.base.href}`]), ...options.peer];
      await withArms({ ...options, peer }, (arms) => {
        return options.cost ? costs(arms, started, options, args) : texts(arms, options, args);
      });
    } finally {
      await started?.stop();
    }
  });
}

async function startPeer({ llamaServer, llamaServerArgs, gguf }: Options): Promise<ChildServer | null> {
  if (llamaServer === undefined) return null;
  if (gguf === undefined) throw new Error("--llama-server needs --gguf, the model that it loads");
  const options = llamaServerArgs?.split(/\s+/).filter(Boolean) ?? [];
  return startLlamaServer(llamaServer, { gguf, options }, []);
}

async function texts({ targets: [ours, peer] }: Arms, options: Options, args: string[]): Promise<void> {
  if (ours === undefined || peer === undefined) throw new Error("give --peer or --llama-server");
  const machine = machineFacts(args);
  const { seed, requests = 50, tokens } = options;
  const settings = named(SETTINGS, options.only);
  const counts = await compareSamplers([ours, peer], { settings, requests, tokens, seed }, (one) => {
    process.stderr.write(`${one.setting}: ${one.equal} of ${one.requests} equal\n`);
  });
  await writeReport(options.json, { kind: "samplers", machine, plan: options, counts });
  process.stdout.write(`${table(SAMPLERS_HEAD, counts.map(samplersRow))}\n${machineLine(machine)}\n`);
  for (const line of counts.flatMap(differenceLines)) process.stdout.write(`${line}\n`);
}

async function costs(arms: Arms, peer: ChildServer | null, options: Options, args: string[]): Promise<void> {
  const machine = machineFacts(args);
  const { seed, requests = 5, tokens, prompt, repeats } = options;
  const plan = { settings: named(COST_SETTINGS, options.only), requests, tokens, prompt, repeats, seed };
  const pids = [options.pid ?? arms.server?.pid, ...(peer === null ? [] : [peer.pid])];
  const known = pids.length === arms.targets.length && !pids.includes(undefined);
  const time = known && process.platform === "linux" ? "CPU" : "clock";
  const timed = arms.targets.map((target, i) => {
    const pid = pids[i];
    return { target, clock: time === "CPU" && pid !== undefined ? () => cpuMs(pid) : () => performance.now() };
  });
  const { costs, warnings } = await measureCosts(timed, plan, (cost) => {
    const { ratio } = addedCost(cost);
    process.stderr.write(`${cost.setting}, ${cost.label}: × ${figure(ratio.median)}\n`);
  });
  const servers = [arms.server?.command, peer?.command];
  await writeReport(options.json, { kind: "sampler-costs", machine, servers, time, plan, costs, warnings });
  process.stdout.write(
    `${table(COSTS_HEAD, costs.map(costsRow))}\nmilliseconds of ${time} time\n${machineLine(machine)}\n`,
  );
  for (const warning of warnings) process.stdout.write(`! ${warning}\n`);
}

function named(settings: Readonly<Record<string, Setting>>, text: string): Record<string, Setting> {
  const found = Object.entries(settings).filter(([name]) => name.includes(text));
  if (found.length === 0) throw new Error(`no setting has ${JSON.stringify(text)} in its name`);
  return Object.fromEntries(found);
}
