import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Command, Option } from "commander";
import { writeModel } from "../models/model.ts";
import { SHAPES } from "../models/shapes.ts";
import { whole } from "./arguments.ts";

const SHOWN_EVERY_MS = 1000;

export function modelCommand(): Command {
  return new Command("model")
    .description("write a GGUF of a real shape with random weights and a synthetic vocabulary")
    .addOption(new Option("--shape <name>", "the model's shape").choices(Object.keys(SHAPES)).makeOptionMandatory())
    .requiredOption("--out <file>", "output file")
    .option("--seed <n>", "the same seed gives the same file", whole(0), 1)
    .action(async (options: { shape: string; out: string; seed: number }) => {
      const shape = SHAPES[options.shape]!();
      await mkdir(dirname(options.out), { recursive: true });
      const began = performance.now();
      let shown = began;
      const bytes = await writeModel(options.out, options.shape, shape, options.seed, (written, total) => {
        const now = performance.now();
        if (now - shown < SHOWN_EVERY_MS && written < total) return;
        shown = now;
        process.stderr.write(`${options.shape}: ${mib(written)} of ${mib(total)} MiB\n`);
      });
      const seconds = (performance.now() - began) / 1000;
      process.stdout.write(`${options.out}: ${mib(bytes)} MiB in ${seconds.toFixed(1)} s\n`);
    });
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
