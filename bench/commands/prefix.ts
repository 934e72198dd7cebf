import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { doubts, writeReport } from "../target/report.ts";
import { measurePrefix, PREFIX_HEAD, prefixRows } from "../throughput/prefix.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addPeerOptions, type PeerOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions, PeerOptions {
  streams: number;
  shared: number;
  private: number;
  tokens: number;
}

export function prefixCommand(args: string[]): Command {
  const command = new Command("prefix")
    .description("concurrent requests over one uncomputed prefix: TTFT, and how often the prefix is computed")
    .option("--streams <n>", "concurrent requests", whole(1), 32)
    .option("--shared <tokens>", "tokens of the prefix, new in each repeat", whole(1), 1000)
    .option("--private <tokens>", "tokens of each request after the prefix", whole(1), 16)
    .option("--tokens <n>", "tokens that each request generates", whole(2), 8);
  return addPeerOptions(addArmOptions(command, "completions")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets, server }) => {
      const warnings: string[] = [];
      const arms = await measurePrefix(targets, options, (label, result) => {
        process.stderr.write(`${label}: TTFT p99 ${figure(result.ttft.p99)} ms\n`);
        warnings.push(...doubts(label, result, options.tokens));
      });
      await writeReport(options.json, { kind: "prefix", machine, server, plan: options, arms, warnings });
      process.stdout.write(`${table(PREFIX_HEAD, prefixRows(arms))}\n${machineLine(machine)}\n`);
      for (const warning of warnings) process.stdout.write(`! ${warning}\n`);
      if (arms.some((arm) => arm.repeats.some((repeat) => repeat.failures.length > 0))) {
        throw new Error("some requests failed");
      }
    });
  });
}
