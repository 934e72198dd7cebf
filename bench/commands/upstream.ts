import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { startLlamaServer } from "../target/llama-server.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { startServer } from "../target/server-process.ts";
import { connect } from "../target/target.ts";
import { measureUpstream, UPSTREAM_HEAD, type UpstreamPlan, upstreamRows } from "../upstream/two-shifts.ts";
import { whole } from "./arguments.ts";

interface Options extends UpstreamPlan {
  gguf: string;
  llamaServer: string;
  slots: number;
  threads: number;
  json?: string;
}

export function upstreamCommand(args: string[]): Command {
  return new Command("upstream")
    .description(
      "online requests at a llama-server behind this server, alone, beside a batch, and beside another client",
    )
    .requiredOption("--gguf <file>", "the model")
    .requiredOption("--llama-server <binary>", "the upstream's program")
    .option("--slots <n>", "sequences of the upstream", whole(1), 8)
    .option("--threads <n>", "compute threads of the upstream", whole(1), 1)
    .option("--rate <n>", "online requests per second", whole(1), 1)
    .option("--seconds <n>", "duration of each round", whole(1), 20)
    .option("--prompt <tokens>", "tokens of each prompt", whole(1), 128)
    .option("--tokens <n>", "tokens of each answer", whole(2), 32)
    .option("--ungated <n>", "concurrent requests of the client that is not limited", whole(1), 32)
    .option("--repeats <n>", "rounds of each kind, interleaved", whole(1), 3)
    .option("--seed <n>", "the same seed gives the same requests", whole(0), 1)
    .option("--json <file>", "also write the figures of every round to this file")
    .action(async (options: Options) => {
      const machine = machineFacts(args);
      const { gguf, slots, threads } = options;
      const flags = ["-np", String(slots), "-c", String(slots * 1024), "--metrics"];
      const settings = { gguf, options: ["-t", String(threads)] };
      const upstream = await startLlamaServer(options.llamaServer, settings, flags);
      try {
        const server = await startServer({}, ["--upstream", `llama=${upstream.base.href}`]);
        try {
          const direct = await connect("llama-server", upstream.base, undefined, false);
          const ours = await connect("nightshift", server.base, undefined, true);
          const arms = await measureUpstream(ours, direct, options, (beside, { online }) => {
            process.stderr.write(`beside ${beside}: TTFT p99 ${figure(online.ttft.p99)} ms\n`);
          });
          for (const { agent } of [direct, ours]) agent.destroy();
          await writeReport(options.json, { kind: "upstream", machine, plan: options, arms });
          process.stdout.write(`${table(UPSTREAM_HEAD, upstreamRows(arms))}\n${machineLine(machine)}\n`);
          const failures = arms.flatMap(({ rounds }) => rounds.flatMap(({ online }) => online.failures));
          if (failures.length > 0) throw new Error(`${failures.length} requests failed: ${failures[0]}`);
        } finally {
          await server.stop();
        }
      } finally {
        await upstream.stop();
      }
    });
}
