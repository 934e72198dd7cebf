import { Command } from "commander";
import { table } from "../../base/table.ts";
import { measureSteps, measureSweep, STEPS_HEAD, SWEEP_HEAD, stepRows, sweepRows } from "../../stored/expiry.ts";
import { measureReads, READS_HEAD, type ReadPlan, readRows } from "../../stored/reads.ts";
import { fillStored } from "../../stored/stored-fill.ts";
import { machineFacts, machineLine } from "../../target/machine.ts";
import { writeReport } from "../../target/report.ts";
import { type OwnServer, startServer } from "../../target/server-process.ts";
import { connect, type Target } from "../../target/target.ts";
import { whole } from "../arguments.ts";

interface Options extends ReadPlan {
  gguf: string;
  serverArgs: string;
  json?: string;
}

/** Days after which the sweeper removes answers. */
const DAYS = 30;

export function storedCommand(args: string[]): Command {
  return new Command("stored")
    .description(
      "stored responses and chat completions: reads, alone and beside a stream, and the removal of expired ones",
    )
    .option("--gguf <file>", "the model of the servers that are started", "models/demo.gguf")
    .option("--server-args <options>", "options for the servers, in one string", "--threads 1 --calibration off")
    .option("--answers <n>", "stored responses, and as many chat completions", whole(100), 10_000)
    .option("--chain <n>", "responses of each chain", whole(1), 10)
    .option("--long-chain <n>", "responses of one long chain beside them", whole(1), 2000)
    .option("--characters <n>", "characters of each text", whole(1), 1000)
    .option("--requests <n>", "requests of each read in each repeat", whole(1), 500)
    .option("--repeats <n>", "repeats alone, and as many beside a stream", whole(1), 3)
    .option("--json <file>", "also write the figures to this file")
    .action(async (plan: Options) => {
      const machine = machineFacts(args);
      const now = Math.floor(Date.now() / 1000);
      const old = now - (DAYS + 1) * 86_400;
      const reads = await withFilled(plan, now, ({ target }) => measureReads(target, plan));
      const sweep = await withFilled(plan, old, ({ target, server }) => measureSweep(target, server));
      const steps = await measureSteps(plan, old);
      await writeReport(plan.json, { kind: "stored", machine, plan, reads, sweep, steps });
      const tables = [
        table(READS_HEAD, readRows(reads)),
        table(SWEEP_HEAD, sweepRows(sweep)),
        table(STEPS_HEAD, stepRows(steps)),
      ];
      process.stdout.write(`${tables.join("\n\n")}\n${machineLine(machine)}\n`);
    });
}

/** Runs `measure` on a server with answers of this time. */
async function withFilled<T>(
  { gguf, serverArgs, ...plan }: Options,
  createdAt: number,
  measure: (parts: { target: Target; server: OwnServer }) => Promise<T>,
): Promise<T> {
  const options = ["--stored-days", String(DAYS), ...serverArgs.split(/\s+/).filter(Boolean)];
  const server = await startServer({ bench: gguf }, options, (dataDir) => fillStored(dataDir, plan, createdAt));
  const target = await connect("nightshift", server.base, "bench", true);
  try {
    return await measure({ target, server });
  } finally {
    target.agent.destroy();
    await server.stop();
  }
}
