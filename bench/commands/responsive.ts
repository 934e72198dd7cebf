import { Command, InvalidArgumentError } from "commander";
import { table } from "../base/table.ts";
import { measureResponsiveness, RESPONSIVE_HEAD, responsiveDoubts, responsiveRow } from "../responsive/responsive.ts";
import { WORK_KINDS, type WorkKind } from "../responsive/responsive-work.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { type ArmOptions, addArmOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions {
  kinds: WorkKind[];
  dataDir?: string;
}

export function responsiveCommand(args: string[]): Command {
  const command = new Command("responsive")
    .description("latency of /health and gaps of a stream beside the heaviest requests")
    .option("--kinds <list>", `kinds of work, separated by commas: ${WORK_KINDS.join(", ")}`, kindsOf, [...WORK_KINDS]);
  command.option("--data-dir <dir>", "the data directory of the server at --url, for a backup");
  return addArmOptions(command, "chat").action(async (options: Options) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets, server }) => {
      const results = await measureResponsiveness(
        targets[0]!,
        options.kinds,
        server?.dataDir ?? options.dataDir ?? null,
      );
      const warnings = results.flatMap(responsiveDoubts);
      await writeReport(options.json, { kind: "responsive", machine, server, results, warnings });
      const doubts = warnings.map((line) => `! ${line}\n`).join("");
      process.stdout.write(`${table(RESPONSIVE_HEAD, results.map(responsiveRow))}\n${doubts}${machineLine(machine)}\n`);
    });
  });
}

function kindsOf(text: string): WorkKind[] {
  return text.split(",").map((name) => {
    const kind = WORK_KINDS.find((one) => one === name);
    if (kind === undefined)
      throw new InvalidArgumentError(`Unknown kind: ${name}. Kinds are ${WORK_KINDS.join(", ")}.`);
    return kind;
  });
}
