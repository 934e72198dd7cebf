import { Command } from "commander";
import { table } from "../base/table.ts";
import { disagreements } from "../batch/books.ts";
import { chaos } from "../chaos/chaos.ts";
import { endurance } from "../endurance/endurance.ts";
import { MEMORY_HEAD, memoryRow, memoryTrends } from "../endurance/memory-trend.ts";
import { type MachineFacts, machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addProcessOptions, type ProcessOptions, withProcess } from "./arms.ts";

interface Options extends ArmOptions, ProcessOptions {
  minutes: number;
  clients: number;
  lines: number;
  chaos?: boolean;
}

export function enduranceCommand(args: string[]): Command {
  const command = new Command("endurance")
    .description("chats, batches, disconnecting clients, cancels and a killed engine; then memory and the books")
    .option("--minutes <n>", "duration in minutes", whole(1), 20)
    .option("--clients <n>", "concurrent online clients", whole(1), 4)
    .option("--lines <n>", "lines of each batch", whole(1), 500)
    .option(
      "--chaos",
      "hostile clients, cancels, a failing model host, kills, hangs, reloads, backups; requires --gguf",
    );
  return addProcessOptions(addArmOptions(command, "chat")).action(async (options: Options) => {
    const machine = machineFacts(args);
    if (options.chaos) return chaosRun(options, machine);
    await withProcess(options, async ({ target, pid, server }) => {
      const { clients, lines, seed, minutes } = options;
      const began = performance.now();
      const say = (text: string) =>
        process.stderr.write(`${((performance.now() - began) / 60_000).toFixed(1)} min  ${text}\n`);
      const result = await endurance(target, pid, { seconds: 60 * minutes, clients, lines, seed }, say);
      const trends = memoryTrends(result.samples);
      const wrong = disagreements(result);
      await writeReport(options.json, { kind: "endurance", machine, server, plan: options, ...result, trends, wrong });
      const { online, batches, books } = result;
      const statuses = [...new Set(batches.map(({ status }) => status))];
      const ends = statuses.map((status) => `${batches.filter((batch) => batch.status === status).length} ${status}`);
      const summary = [
        `${online.answered} chats answered, ${online.left} cancelled by the client, ${online.failed} failed`,
        `${batches.length} batches: ${ends.join(", ")}`,
        `${result.enginesKilled} engine processes killed`,
        `ledger: ${books.onlineRequests} online requests, ${books.batchRequests} lines, ${books.ledgerUsd.toFixed(9)} USD`,
        wrong.length === 0 ? "the books agree" : `the books do not agree:\n  ${wrong.join("\n  ")}`,
      ];
      const memory = table(MEMORY_HEAD, trends.map(memoryRow));
      process.stdout.write(`${memory}\n${summary.join("\n")}\n${machineLine(machine)}\n`);
      if (result.failures.length > 0) throw new Error(`${result.failures.length} failed: ${result.failures[0]}`);
      if (wrong.length > 0) throw new Error("the books do not agree");
    });
  });
}

async function chaosRun(options: Options, machine: MachineFacts): Promise<void> {
  const { minutes, clients, lines, seed, gguf } = options;
  if (gguf === undefined)
    throw new Error("--chaos kills and restarts the server: give --gguf with the model to start it with");
  const serverArgs = options.serverArgs?.split(/\s+/).filter(Boolean) ?? [];
  const began = performance.now();
  const say = (text: string) =>
    process.stderr.write(`${((performance.now() - began) / 60_000).toFixed(1)} min  ${text}\n`);
  const result = await chaos({ seconds: 60 * minutes, clients, lines, seed, gguf, serverArgs }, say);
  await writeReport(options.json, { kind: "chaos", machine, plan: options, ...result });
  const { online, batches, books, lives, openFiles, memory, wrong } = result;
  const rows = Object.entries(result.disturbances).map(([name, count]) => [name, String(count)]);
  const refused = Object.entries(result.refused).map(([status, count]) => `${count} × ${status}`);
  const summary = [
    `${online.answered} answered, ${online.left} cancelled by the client, ${online.failed} failed (${refused.join(", ") || "none rejected"})`,
    `${batches.length} batches, ${books.batchRequests} lines in the ledger, ${books.ledgerUsd.toFixed(9)} USD`,
    `${lives.serverStarts} server processes; ${lives.enginesDied} engines died, ${lives.enginesAsked} of them intended; the hub had ${result.hubAsked} requests`,
    `open files ${openFiles.first} at the last start, ${openFiles.last} at the end`,
    `memory ${memory.map(({ name, mib }) => `${name} ${mib.toFixed(0)} MiB`).join(", ")}`,
    wrong.length === 0 ? "every invariant holds" : `${wrong.length} violations:\n  ${wrong.slice(0, 50).join("\n  ")}`,
  ];
  process.stdout.write(`${table(["disturbance", "times"], rows)}\n${summary.join("\n")}\n${machineLine(machine)}\n`);
  if (wrong.length > 0) throw new Error(`${wrong.length} invariants do not hold`);
}
