import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { measureValidation, VALIDATE_HEAD, validateRows } from "../batch/validate.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addProcessOptions, type ProcessOptions, withProcess } from "./arms.ts";

interface Options extends ArmOptions, ProcessOptions {
  lines: number;
  bytes: number;
  runSeconds: number;
  repeats: number;
}

export function validateCommand(args: string[]): Command {
  const command = new Command("validate")
    .description("upload and validation of a large batch file: speed, stream gaps beside it, and memory")
    .option("--lines <n>", "lines of the file", whole(1), 50_000)
    .option("--bytes <n>", "bytes of each line", whole(256), 4000)
    .option("--run-seconds <n>", "seconds that each batch runs before it is cancelled", whole(0), 5)
    .option("--repeats <n>", "repeats alone, and as many beside a stream", whole(1), 3);
  return addProcessOptions(addArmOptions(command, "chat")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withProcess(options, async ({ target, pid, server }) => {
      const arms = await measureValidation(target, pid, options, (label, { validateSeconds }) => {
        process.stderr.write(`${label}: ${figure(options.lines / validateSeconds)} lines/s\n`);
      });
      await writeReport(options.json, { kind: "validate", machine, server, plan: options, arms, warnings: [] });
      process.stdout.write(`${table(VALIDATE_HEAD, validateRows(arms, options))}\n${machineLine(machine)}\n`);
    });
  });
}
