import { Command } from "commander";
import { table } from "../base/table.ts";
import { compareSamplers, SAMPLERS_HEAD, samplersRow } from "../samplers/samplers.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";
import { type ArmOptions, addArmOptions, addPeerOptions, type PeerOptions, withArms } from "./arms.ts";

interface Options extends ArmOptions, PeerOptions {
  requests: number;
  tokens: number;
}

export function samplersCommand(args: string[]): Command {
  const command = new Command("samplers")
    .description("answers under each sampler, compared with those of a llama-server for the same seeds")
    .option("--requests <n>", "requests of each setting", whole(1), 30)
    .option("--tokens <n>", "tokens that each request generates at most", whole(1), 32);
  return addPeerOptions(addArmOptions(command, "completions")).action(async (options: Options) => {
    const machine = machineFacts(args);
    await withArms(options, async ({ targets: [ours, peer] }) => {
      if (ours === undefined || peer === undefined) throw new Error("give --peer with the URL of a llama-server");
      const counts = await compareSamplers([ours, peer], options, ({ setting, equal, requests }) => {
        process.stderr.write(`${setting}: ${equal} of ${requests} equal\n`);
      });
      await writeReport(options.json, { kind: "samplers", machine, plan: options, counts });
      process.stdout.write(`${table(SAMPLERS_HEAD, counts.map(samplersRow))}\n${machineLine(machine)}\n`);
    });
  });
}
