import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { table } from "../base/table.ts";
import { queryMatrices, writeAdapter } from "../models/adapter.ts";
import { writeModel } from "../models/model.ts";
import { SHAPES } from "../models/shapes.ts";
import { compareReuse, REUSE_HEAD, reuseRow } from "../reuse/reuse.ts";
import { machineFacts, machineLine } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { startServer } from "../target/server-process.ts";
import { connect } from "../target/target.ts";
import { whole } from "./arguments.ts";

interface Options {
  requests: number;
  clients: number;
  seed: number;
  serverArgs: string;
  json?: string;
}

const KINDS = ["tiny-full", "tiny-swa", "tiny-recurrent", "tiny-hybrid"];
/** Of these, kinds that are also served with a LoRA adapter. */
const ADAPTED = ["tiny-swa", "tiny-hybrid"];
/** No request is rejected for its queue wait. */
const PATIENT = ["--calibration", "off", "--max-wait-ms", "off", "--queue-timeout-ms", "off", "--flex-wait-ms", "off"];

export function reuseCommand(args: string[]): Command {
  return new Command("reuse")
    .description("answers of prompts that start with cached prefixes, compared with the same prompts computed anew")
    .option("--requests <n>", "requests, of all kinds of memory together", whole(1), 10_000)
    .option("--clients <n>", "concurrent clients", whole(1), 8)
    .option("--seed <n>", "seed of models and prompts", whole(0), 1)
    .option("--server-args <args>", "more options of the server, such as --kv split", "--threads 1 --sequences 4")
    .option("--json <file>", "write the counts to this file")
    .action(async (options: Options) => {
      const machine = machineFacts(args);
      const folder = mkdtempSync(join(tmpdir(), "nightshift-reuse-"));
      const files: Record<string, string> = {};
      for (const shape of KINDS) {
        const file = join(folder, `${shape}.gguf`);
        await writeModel(file, shape, SHAPES[shape]!(), options.seed);
        files[shape] = file;
      }
      for (const shape of ADAPTED) {
        const adapter = join(folder, `${shape}-lora.gguf`);
        const described = SHAPES[shape]!();
        await writeAdapter(adapter, described.architecture, queryMatrices(described), options.seed);
        files[`${shape}-lora`] = `${files[shape]}+${adapter}`;
      }
      const models = Object.keys(files);
      const server = await startServer(files, [...PATIENT, ...options.serverArgs.split(/\s+/).filter(Boolean)]);
      try {
        const target = await connect("nightshift", server.base, KINDS[0], true);
        let answered = 0;
        const counts = await compareReuse(target, { ...options, models }, () => {
          if (++answered % 500 === 0) process.stderr.write(`${answered} requests answered\n`);
        });
        await writeReport(options.json, { kind: "reuse", machine, plan: options, counts });
        process.stdout.write(`${table(REUSE_HEAD, counts.map(reuseRow))}\n${machineLine(machine)}\n`);
        const wrong = counts.flatMap(({ mismatches }) => mismatches);
        if (wrong.length > 0) throw new Error(`${wrong.length} answers differ:\n${wrong.slice(0, 20).join("\n")}`);
      } finally {
        await server.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    });
}
