import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { MEMORY_HEAD, memoryRow, memoryTrends } from "../endurance/memory-trend.ts";
import { soak } from "../endurance/soak.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { totalMib } from "../target/memory.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addProcessOptions, type ProcessOptions, withProcess } from "./arms.ts";

interface Options extends ArmOptions, ProcessOptions {
  requests: number;
  concurrency: number;
}

export function soakCommand(args: string[]): Command {
  const command = new Command("soak")
    .description("resident memory of the server over many short chats")
    .option("--requests <n>", "total requests", whole(1), 10_000)
    .option("--concurrency <n>", "concurrent clients", whole(1), 8);
  return addProcessOptions(addArmOptions(command, "chat")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withProcess(options, async ({ target, pid, server }) => {
      const result = await soak(target, pid, options, ({ requests, processes }) => {
        process.stderr.write(`${requests} requests: ${figure(totalMib(processes))} MiB\n`);
      });
      const trends = memoryTrends(result.samples);
      await writeReport(options.json, { kind: "soak", machine, server, plan: options, ...result, trends });
      const rate = `${figure(options.requests / result.seconds)} requests/s`;
      const memory = table(MEMORY_HEAD, trends.map(memoryRow));
      process.stdout.write(`${memory}\n${options.requests} requests, ${rate}\n${machineLine(machine)}\n`);
      if (result.failures.length > 0) throw new Error(`${result.failures.length} failed: ${result.failures[0]}`);
    });
  });
}
