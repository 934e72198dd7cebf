import { Command } from "commander";
import { Random } from "../base/random.ts";
import { spread } from "../base/statistics.ts";
import { figure, table } from "../base/table.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { EMBEDDINGS_HEAD, embeddingsRows, measureEmbeddings } from "../throughput/embeddings.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addPeerOptions, type PeerOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions, PeerOptions {
  inputs: number;
  length: number;
  clients: number;
}

export function embeddingsCommand(args: string[]): Command {
  const command = new Command("embeddings")
    .description("inputs/s with many inputs per request and with one, compared with others (llama-server --embeddings)")
    .option("--inputs <n>", "inputs of each measurement", whole(1), 64)
    .option("--length <tokens>", "tokens of each input", whole(1), 12)
    .option("--clients <n>", "concurrent clients that send one input each", whole(1), 16);
  return addPeerOptions(addArmOptions(command, "completions")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets, server }) => {
      const arms = await measureEmbeddings(targets, options, new Random(options.seed, 0), ({ label, way, rates }) => {
        process.stderr.write(`${label}, ${way}: ${figure(spread(rates).median)} inputs/s\n`);
      });
      await writeReport(options.json, { kind: "embeddings", machine, server, plan: options, arms });
      process.stdout.write(`${table(EMBEDDINGS_HEAD, embeddingsRows(arms))}\n${machineLine(machine)}\n`);
    });
  });
}
