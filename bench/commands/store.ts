import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { figure, table } from "../base/table.ts";
import { measureStore, STORE_HEAD, storeRows } from "../store/store.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";

interface Options {
  batches: number;
  ledger: number;
  results: number;
  resultBytes: number;
  json?: string;
}

export function storeCommand(args: string[]): Command {
  return new Command("store")
    .description("a store with years of rows: start, statements, and the latency beside them; needs no server")
    .option("--batches <n>", "terminal batches", whole(1), 1_000_000)
    .option("--ledger <n>", "ledger rows over 31 days", whole(1), 10_000_000)
    .option("--results <n>", "results of a deleted file", whole(1), 600)
    .option("--result-bytes <n>", "bytes of each result", whole(2), 1_000_000)
    .option("--json <file>", "write all measurements to this file")
    .action(async (plan: Options) => {
      const machine = machineFacts(args);
      const dataDir = await mkdtemp(join(tmpdir(), "nightshift-bench-store-"));
      try {
        const runs = await measureStore(dataDir, plan, ({ label, ms }) => {
          process.stderr.write(`${label}: ${figure(ms)} ms\n`);
        });
        await writeReport(plan.json, { kind: "store", machine, plan, runs, warnings: [] });
        process.stdout.write(`${table(STORE_HEAD, storeRows(runs))}\n${machineLine(machine)}\n`);
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    });
}
