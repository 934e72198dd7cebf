import { access, mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Command, Option } from "commander";
import { writeModel } from "../models/model.ts";
import { SHAPES } from "../models/shapes.ts";
import { document, type SuiteReport } from "../suite/document.ts";
import { laboratory } from "../suite/laboratory.ts";
import { traceFile } from "../suite/load/trace-file.ts";
import { chatTraffic, scaled } from "../suite/load/traffic.ts";
import { PRESETS, type Preset } from "../suite/preset.ts";
import type { Scenario } from "../suite/scenario.ts";
import { SCENARIOS } from "../suite/scenarios/scenarios.ts";
import { type ServerOptions, startServers, withoutFolder } from "../suite/servers.ts";
import { type MachineFacts, machineFacts } from "../target/machine.ts";
import { writeReport } from "../target/report.ts";
import { whole } from "./arguments.ts";

interface Options extends ServerOptions {
  preset: Preset["name"];
  scenario: string[];
  ceiling?: string;
  gguf?: string;
  trace?: string;
  repeats: number;
  seed: number;
  out: string;
}

export function suiteCommand(args: string[]): Command {
  const collect = (text: string, all: string[]) => [...all, text];
  const names = SCENARIOS.map(({ name }) => name);
  return new Command("suite")
    .description("all scenarios, compared with other servers, as a report with charts")
    .addOption(new Option("--preset <name>", "sizes of the scenarios").choices(Object.keys(PRESETS)).default("cpu"))
    .option("--scenario <name>", `run this scenario only; repeatable: ${names.join(", ")}`, collect, [])
    .option("--peer <[label=]url>", "an OpenAI-compatible server to compare with; repeatable", collect, [])
    .option("--llama-server <file>", "start two configurations of this llama-server as peers")
    .option("--ceiling <file>", "llama-batched-bench, to measure the throughput ceiling")
    .option("--gguf <file>", "the model (default: one of the preset's shape, created in .bench/)")
    .option("--server-args <options>", "further options for this server, in one string")
    .option(
      "--trace <file>",
      "read arrivals and lengths from this CSV instead of drawing them from a model of a chat trace",
    )
    .option("--repeats <n>", "repeats per server, interleaved", whole(1), 3)
    .option("--seed <n>", "the same seed gives the same prompts and arrivals", whole(0), 1)
    .option("--out <folder>", "folder of the report, its data and its charts", "docs/benchmarks")
    .action(async (options: Options) => {
      const unknown = options.scenario.find((name) => !names.includes(name));
      if (unknown !== undefined) throw new Error(`unknown scenario: ${unknown}; scenarios are ${names.join(", ")}`);
      const chosen = SCENARIOS.filter(({ name }) => options.scenario.length === 0 || options.scenario.includes(name));
      await measureSuite(options, chosen, machineFacts(args.map(withoutFolder)));
    });
}

async function measureSuite(options: Options, chosen: Scenario[], machine: MachineFacts): Promise<void> {
  const began = performance.now();
  const preset = PRESETS[options.preset];
  const say = (text: string) => {
    process.stderr.write(`${((performance.now() - began) / 60_000).toFixed(1)} min  ${text}\n`);
  };
  const source = options.trace ? await traceFile(options.trace) : chatTraffic();
  const gguf = options.gguf ?? (await presetModel(preset));
  const { own, peers, servers, stop } = await startServers(options, preset, gguf);
  try {
    const lab = laboratory({
      own,
      peers,
      preset,
      repeats: options.repeats,
      seed: options.seed,
      traffic: scaled(source, preset.lengthDivisor, preset.context),
      ceiling: options.ceiling ? { binary: options.ceiling, gguf, threads: preset.threads } : null,
      say,
    });
    const sections: SuiteReport["sections"] = [];
    for (const { name, title, run } of chosen) {
      say(title);
      sections.push({ name, title, section: await run(lab) });
      const minutes = (performance.now() - began) / 60_000;
      // after each scenario, so that its results are kept when a later one fails
      const model = options.gguf ? basename(options.gguf) : modelText(preset);
      const { repeats, seed } = options;
      await writeSuite(options.out, { machine, preset, repeats, seed, minutes, servers, model, sections });
    }
  } finally {
    for (const target of [own, ...peers]) target?.agent.destroy();
    await stop();
  }
}

/** The preset's model in .bench/, created when missing. */
async function presetModel({ shape }: Preset): Promise<string> {
  const path = join(".bench", `${shape}.gguf`);
  const there = await access(path).then(
    () => true,
    () => false,
  );
  if (there) return path;
  await mkdir(".bench", { recursive: true });
  await writeModel(path, shape, SHAPES[shape]!(), 1);
  return path;
}

function modelText({ name, shape }: Preset): string {
  const why =
    name === "cpu"
      ? " With about 30 million weights and a vocabulary of 32,768 a step of few streams takes a few milliseconds on one " +
        "core, as one of a real model does on a GPU; a further stream costs far more here than there, because on a CPU " +
        "decoding is bound by arithmetic."
      : "";
  return `random weights of the shape \`${shape}\` (bench/README.md); random weights compute in the same time as real ones.${why}`;
}

async function writeSuite(folder: string, report: SuiteReport): Promise<void> {
  const name = report.preset.name;
  const figureFile = (figure: string) => `${name}-${figure}.svg`;
  await writeReport(join(folder, `${name}.json`), {
    ...report,
    sections: report.sections.map(({ section: { data, goals, warnings }, ...rest }) => ({
      ...rest,
      goals,
      warnings,
      data,
    })),
  });
  await writeFile(join(folder, `${name}.md`), document(report, figureFile));
  for (const { section } of report.sections) {
    for (const { name: figure, svg } of section.figures) await writeFile(join(folder, figureFile(figure)), svg);
  }
}
