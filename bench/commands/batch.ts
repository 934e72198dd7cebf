import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { BATCH_HEAD, batchRows, measureBatch } from "../batch/batch.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole, wholes } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addPeerOptions, type PeerOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions, PeerOptions {
  lines: number;
  prompt: number;
  shared: number;
  tokens: number;
  concurrency: number[];
}

export function batchCommand(args: string[]): Command {
  const command = new Command("batch")
    .description("a batch here, compared with a plain client's loop over the same lines at other servers")
    .option("--lines <n>", "lines of the batch", whole(1), 1000)
    .option("--prompt <tokens>", "tokens of each prompt", whole(1), 32)
    .option("--shared <tokens>", "tokens that all prompts share", whole(0), 0)
    .option("--tokens <n>", "tokens that each line generates", whole(1), 16)
    .option("--concurrency <list>", "concurrent clients of the loop, one arm per number", wholes(1), [8, 32]);
  return addPeerOptions(addArmOptions(command, "completions")).action(async (options: Options) => {
    const machine = machineFacts(args);
    if (options.shared > options.prompt) throw new Error("--shared is part of --prompt and cannot exceed it");
    if (options.endpoint === "chat")
      throw new Error("batch measures completions only, because their lengths are exact");
    await withArms(options, async ({ targets, server }) => {
      const arms = await measureBatch(targets, options, (label, { seconds }) => {
        process.stderr.write(`${label}: ${figure(options.lines / seconds)} lines/s\n`);
      });
      await writeReport(options.json, { kind: "batch", machine, server, plan: options, arms, warnings: [] });
      process.stdout.write(`${table(BATCH_HEAD, batchRows(arms, options.lines))}\n${machineLine(machine)}\n`);
    });
  });
}
