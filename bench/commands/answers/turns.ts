import { Command } from "commander";
import { table } from "../../base/table.ts";
import { machineFacts, machineLine } from "../../target/machine.ts";
import { writeReport } from "../../target/report.ts";
import {
  COMPUTED_HEAD,
  computedRows,
  FIRST_HEAD,
  firstRows,
  measureTurns,
  type TurnPlan,
  turnDoubts,
} from "../../turns/turns.ts";
import { whole } from "../arguments.ts";
import { type ArmOptions, addArmOptions, withArms } from "../arms.ts";

export function turnsCommand(args: string[]): Command {
  const command = new Command("turns")
    .description("a conversation by previous_response_id: computed tokens of its turns, and their time to first token")
    .option("--turns <n>", "turns of the conversation", whole(2), 50)
    .option("--digits <n>", "random digits of each input", whole(1), 24)
    .option("--tokens <n>", "tokens of each answer", whole(1), 16)
    .option("--repeats <n>", "requests for each time to first token, interleaved", whole(1), 15);
  return addArmOptions(command, "chat").action(async (options: ArmOptions & TurnPlan) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets, server }) => {
      const result = await measureTurns(targets[0]!, options);
      const warnings = turnDoubts(result);
      await writeReport(options.json, { kind: "turns", machine, server, plan: options, ...result, warnings });
      const doubts = warnings.map((line) => `! ${line}\n`).join("");
      const tables = [table(COMPUTED_HEAD, computedRows(result)), table(FIRST_HEAD, firstRows(result))];
      process.stdout.write(`${tables.join("\n\n")}\n${doubts}${machineLine(machine)}\n`);
    });
  });
}
