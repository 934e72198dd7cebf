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
    .description("what a flood of refused requests does to the time to first token of those that are answered (Linux)")
    .option("--kinds <list>", `of ${FLOOD_KINDS.join(", ")}, separated by commas`, kindsOf, ["unknown", "large"])
    .option("--rate <n>", "refused requests a second", whole(1), 200)
    .option("--seconds <n>", "how long each round lasts", whole(1), 2)
    .option("--clients <n>", "clients whose requests are answered", whole(1), 4)
    .option("--repeats <n>", "rounds with each flood, and as many without", whole(1), 15)
    .option("--flood-key <key>", "of kind rate: a key whose limit is one request a minute")
    .option("--spent-key <key>", "of kind budget: a key whose budget is used up")
    .option("--flood-model <name>", "of kind unavailable: a model that the server has and can't load");
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
    if (kind === undefined) throw new InvalidArgumentError(`There is no kind ${name}.`);
    return kind;
  });
}
