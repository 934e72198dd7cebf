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
    .description("the engine's scheduler with random crowds over a memory that checks every step; needs no server")
    .option("--steps <n>", "steps at least", whole(1), 1_000_000)
    .option("--seed <n>", "another gives other crowds", whole(0), 1)
    .action(({ steps, seed }: Options) => {
      const runs = runScheduler(steps, seed, (done) => process.stderr.write(`${done} of ${steps} steps\n`));
      process.stdout.write(`${table(SCHEDULER_HEAD, schedulerRows(runs))}\n`);
    });
}
