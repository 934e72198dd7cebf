import { Command } from "commander";
import { machineFacts, machineLine } from "../machine.ts";
import { totalMib } from "../memory.ts";
import { writeReport } from "../report.ts";
import { memoryTrends, soak } from "../soak.ts";
import { figure, table } from "../table.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions {
  requests: number;
  concurrency: number;
  pid?: number;
}

const HEAD = ["process", "first MiB", "last MiB", "MiB per 1,000 requests"];

export function soakCommand(args: string[]): Command {
  const command = new Command("soak")
    .description("many short chats, and what they do to the server's resident memory")
    .option("--requests <n>", "requests in all", whole(1), 10_000)
    .option("--concurrency <n>", "clients at once", whole(1), 8)
    .option("--pid <pid>", "the server's process, when --gguf did not start it", whole(1));
  return addArmOptions(command, "chat").action(async (options: Options) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets, server }) => {
      const pid = options.pid ?? server?.pid;
      if (pid === undefined) throw new Error("--pid names the server's process, or --gguf starts one");
      const result = await soak(targets[0]!, pid, options, ({ requests, processes }) => {
        process.stderr.write(`${requests} requests: ${figure(totalMib(processes))} MiB\n`);
      });
      const trends = memoryTrends(result.samples);
      await writeReport(options.json, { kind: "soak", machine, server, plan: options, ...result, trends });
      const rows = trends.map(({ pid, name, first, last, perThousand }) => {
        const mib = [first, last].map((value) => value.toFixed(1));
        return [pid === 0 ? name : `${name} (${pid})`, ...mib, perThousand.toFixed(3)];
      });
      const rate = `${figure(options.requests / result.seconds)} requests/s`;
      process.stdout.write(`${table(HEAD, rows)}\n${options.requests} requests, ${rate}\n${machineLine(machine)}\n`);
      if (result.failures.length > 0) throw new Error(`${result.failures.length} failed: ${result.failures[0]}`);
    });
  });
}
