import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { doubts, reuse, writeReport } from "../target/report.ts";
import { compare, measureThroughput, THROUGHPUT_HEAD, throughputRows } from "../throughput/throughput.ts";
import { jsonFile, whole, wholes } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addPeerOptions, type PeerOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions, PeerOptions {
  streams: number[];
  prompt: number;
  shared: number;
  tokens: number;
  requests?: number;
  jsonSchema?: Record<string, unknown>;
}

export function throughputCommand(args: string[]): Command {
  const command = new Command("throughput")
    .description("tokens/s, TTFT and ITL at several numbers of streams, compared with other servers")
    .option("--streams <list>", "numbers of concurrent clients", wholes(1), [1, 8, 32])
    .option("--prompt <tokens>", "tokens of each prompt", whole(1), 128)
    .option("--shared <tokens>", "tokens that all prompts share", whole(0), 0)
    .option("--tokens <n>", "tokens that each request generates", whole(2), 64)
    .option("--json-schema <file>", "a JSON schema for every answer, with a long enough minimum", jsonFile)
    .option("--requests <n>", "requests per stream (default: 8 at 1 stream, 2 up to 8 streams, 1 above)", whole(1));
  return addPeerOptions(addArmOptions(command, "completions")).action(async (options: Options) => {
    const machine = machineFacts(args);
    if (options.shared > options.prompt) throw new Error("--shared is part of --prompt and cannot exceed it");
    await withArms(options, async ({ targets, server }) => {
      const warnings: string[] = [];
      const plan = { ...options, requests: options.requests ?? null, jsonSchema: options.jsonSchema ?? null };
      const arms = await measureThroughput(targets, plan, (streams, label, result) => {
        process.stderr.write(`${streams} streams, ${label}: ${figure(result.tokensPerSecond)} tokens/s\n`);
        const arm = `${streams} streams, ${label}`;
        warnings.push(...doubts(arm, result, options.tokens), ...reuse(arm, result, options.shared));
      });
      const levels = options.streams.map((streams) => arms.filter((arm) => arm.streams === streams));
      const comparisons = levels.map(([ours, ...peers]) => compare(ours!, peers));
      await writeReport(options.json, { kind: "throughput", machine, server, plan, arms, comparisons, warnings });
      process.stdout.write(
        `${table(
          THROUGHPUT_HEAD,
          levels.flatMap((level) => throughputRows(level)),
        )}\n${machineLine(machine)}\n`,
      );
      for (const warning of warnings) process.stdout.write(`! ${warning}\n`);
      if (arms.some((arm) => arm.repeats.some((repeat) => repeat.failures.length > 0))) {
        throw new Error("some requests failed");
      }
    });
  });
}
