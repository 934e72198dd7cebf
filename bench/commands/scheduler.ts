import { Command } from "commander";
import { table } from "../base/table.ts";
import { runScheduler, SCHEDULER_HEAD, schedulerRows } from "../scheduler/long-run.ts";
import { whole } from "./arguments.ts";

interface Options {
  steps: number;
  seed: number;
}

export function schedulerCommand(): Command {
  return new Command("scheduler")
    .description("the engine's scheduler under random load over a memory that checks every step; needs no server")
    .option("--steps <n>", "least number of steps", whole(1), 1_000_000)
    .option("--seed <n>", "seed of the random load", whole(0), 1)
    .action(({ steps, seed }: Options) => {
      const runs = runScheduler(steps, seed, (done) => process.stderr.write(`${done} of ${steps} steps\n`));
      process.stdout.write(`${table(SCHEDULER_HEAD, schedulerRows(runs))}\n`);
    });
}
