import { Command, InvalidArgumentError } from "commander";
import { table } from "../base/table.ts";
import { DIALECTS, DIALECTS_HEAD, type DialectName, dialectRows, measureDialects } from "../dialects/dialects.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addProcessOptions, type ProcessOptions, withProcess } from "./arms.ts";

interface Options extends ArmOptions, ProcessOptions {
  dialects: DialectName[];
  streams: number;
  requests: number;
  tokens: number;
  repeats: number;
}

export function dialectsCommand(args: string[]): Command {
  const command = new Command("dialects")
    .description("CPU time of the server per streamed token in each API of chats (Linux)")
    .option("--dialects <list>", `APIs, the first is compared with: ${DIALECTS.join(", ")}`, dialectsOf, [...DIALECTS])
    .option("--streams <n>", "concurrent streams", whole(1), 32)
    .option("--requests <n>", "requests of each stream, one after the other", whole(1), 8)
    .option("--tokens <n>", "most tokens of each answer", whole(1), 256)
    .option("--repeats <n>", "repeats of each API, interleaved", whole(1), 3);
  return addProcessOptions(addArmOptions(command, "chat")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withProcess(options, async ({ target, pid, server }) => {
      const results = await measureDialects(target, pid, options.dialects, options);
      await writeReport(options.json, { kind: "dialects", machine, server, plan: options, results });
      process.stdout.write(`${table(DIALECTS_HEAD, dialectRows(results))}\n${machineLine(machine)}\n`);
    });
  });
}

function dialectsOf(text: string): DialectName[] {
  return text.split(",").map((name) => {
    const dialect = DIALECTS.find((one) => one === name);
    if (dialect !== undefined) return dialect;
    throw new InvalidArgumentError(`Unknown API: ${name}. APIs are ${DIALECTS.join(", ")}.`);
  });
}
