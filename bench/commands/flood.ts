import { Command, InvalidArgumentError } from "commander";
import { table } from "../base/table.ts";
import { FLOOD_HEAD, floodDoubts, floodRow, measureFloods } from "../flood/flood.ts";
import { FLOOD_KINDS, type FloodKind } from "../flood/flood-client.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addProcessOptions, type ProcessOptions, withProcess } from "./arms.ts";

interface Options extends ArmOptions, ProcessOptions {
  kinds: FloodKind[];
  rate: number;
  seconds: number;
  clients: number;
  repeats: number;
  floodKey?: string;
  spentKey?: string;
  floodModel?: string;
}

export function floodCommand(args: string[]): Command {
  const command = new Command("flood")
    .description("time to first token of answered requests during a flood of rejected ones (Linux)")
    .option("--kinds <list>", `kinds of floods, separated by commas: ${FLOOD_KINDS.join(", ")}`, kindsOf, [
      "unknown",
      "large",
    ])
    .option("--rate <n>", "rejected requests per second", whole(1), 200)
    .option("--seconds <n>", "duration of each round in seconds", whole(1), 2)
    .option("--clients <n>", "clients whose requests are answered", whole(1), 4)
    .option("--repeats <n>", "rounds with each flood, and as many without", whole(1), 15)
    .option("--flood-key <key>", "for kind rate: a key with a limit of one request per minute")
    .option("--spent-key <key>", "for kind budget: a key with a used-up budget")
    .option("--flood-model <name>", "for kind unavailable: a configured model that the server cannot load");
  return addProcessOptions(addArmOptions(command, "chat")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withProcess(options, async ({ target, pid, server }) => {
      const { floodKey = null, spentKey = null, floodModel = null } = options;
      const plan = { ...options, floodKey, spentKey, floodModel };
      const results = await measureFloods(target, pid, plan, (line) => process.stderr.write(`${line}\n`));
      const warnings = results.flatMap(floodDoubts);
      await writeReport(options.json, { kind: "flood", machine, server, plan: options, results, warnings });
      const doubts = warnings.map((line) => `! ${line}\n`).join("");
      process.stdout.write(`${table(FLOOD_HEAD, results.map(floodRow))}\n${doubts}${machineLine(machine)}\n`);
    });
  });
}

function kindsOf(text: string): FloodKind[] {
  return text.split(",").map((name) => {
    const kind = FLOOD_KINDS.find((one) => one === name);
    if (kind === undefined)
      throw new InvalidArgumentError(`Unknown kind: ${name}. Kinds are ${FLOOD_KINDS.join(", ")}.`);
    return kind;
  });
}
