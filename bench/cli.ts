import { Command, CommanderError } from "commander";
import { storedCommand } from "./commands/answers/stored.ts";
import { turnsCommand } from "./commands/answers/turns.ts";
import { batchCommand } from "./commands/batch.ts";
import { conformanceCommand } from "./commands/conformance.ts";
import { dialectsCommand } from "./commands/dialects.ts";
import { embeddingsCommand } from "./commands/embeddings.ts";
import { enduranceCommand } from "./commands/endurance.ts";
import { floodCommand } from "./commands/flood.ts";
import { modelCommand } from "./commands/model.ts";
import { prefixCommand } from "./commands/prefix.ts";
import { responsiveCommand } from "./commands/responsive.ts";
import { reuseCommand } from "./commands/reuse.ts";
import { samplersCommand } from "./commands/samplers.ts";
import { schedulerCommand } from "./commands/scheduler.ts";
import { soakCommand } from "./commands/soak.ts";
import { storeCommand } from "./commands/store.ts";
import { suiteCommand } from "./commands/suite.ts";
import { throughputCommand } from "./commands/throughput.ts";
import { upstreamCommand } from "./commands/upstream.ts";
import { validateCommand } from "./commands/validate.ts";

/** Runs `bench …`. Returns the exit status: 0, 1 when a measurement failed, 2 for a wrong command line. */
export async function run(args: string[]): Promise<number> {
  const program = new Command("bench")
    .description("Makes models for measurements, and compares this server with others")
    .exitOverride()
    .addCommand(modelCommand())
    .addCommand(throughputCommand(args))
    .addCommand(embeddingsCommand(args))
    .addCommand(dialectsCommand(args))
    .addCommand(turnsCommand(args))
    .addCommand(prefixCommand(args))
    .addCommand(batchCommand(args))
    .addCommand(soakCommand(args))
    .addCommand(enduranceCommand(args))
    .addCommand(floodCommand(args))
    .addCommand(upstreamCommand(args))
    .addCommand(responsiveCommand(args))
    .addCommand(storeCommand(args))
    .addCommand(storedCommand(args))
    .addCommand(schedulerCommand())
    .addCommand(reuseCommand(args))
    .addCommand(samplersCommand(args))
    .addCommand(conformanceCommand())
    .addCommand(suiteCommand(args))
    .addCommand(validateCommand(args));
  for (const command of program.commands) command.copyInheritedSettings(program);
  // a signal's default action runs no exit handlers, and servers started by a command would survive it
  process.once("SIGTERM", () => process.exit(143)).once("SIGINT", () => process.exit(130));
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
