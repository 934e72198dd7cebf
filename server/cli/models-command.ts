import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { OptionsError } from "../../platform/options-error.ts";
import { examine } from "../doctor/doctor.ts";
import { readMachine } from "../doctor/machine.ts";
import { modelText } from "../doctor/report.ts";
import { openLog } from "../lifecycle/log-output.ts";
import { bytesText, type ProgressTerminal, startProgress } from "../models/download-progress.ts";
import {
  findStored,
  modelsFolder,
  namedModels,
  removeStored,
  type StoredModel,
  storedModels,
} from "../models/source/models-folder.ts";
import { resolveModels } from "../models/source/resolve.ts";
import { addFlags } from "../options/flags.ts";
import { readOptions } from "../options/read.ts";
import type { OptionKey, Options } from "../options/table.ts";
import { columns } from "./text/columns.ts";

/** Environment and streams of the commands; those of the process fit. */
export interface ModelsCommandDeps {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown };
  stderr: ProgressTerminal;
  /** Calls back when the user interrupts the command. */
  once?(event: "SIGINT", listener: () => void): unknown;
}

const FOLDER: readonly OptionKey[] = ["dataDir", "modelsDir"];

/** Runs `nightshift models` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function modelsCommand(args: readonly string[], deps: ModelsCommandDeps): Promise<void> {
  await modelsProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process, as commander does. */
export function modelsProgram(deps: ModelsCommandDeps): Command {
  const program = new Command("nightshift models")
    .description("Model files on this machine: list, download, show, remove. Needs no server.")
    .showHelpAfterError("Run with --help for usage.");
  const print = (line: string) => void deps.stdout.write(`${line}\n`);

  addFlags(program.command("list"), FOLDER)
    .description("list the models in the folder of downloads")
    .option("--json", "print JSON")
    .action(async (flags) => {
      const { folder } = await read(flags, deps);
      const models = await storedModels(folder);
      if (flags.json) return print(JSON.stringify(models, null, 2));
      if (models.length === 0) return print(`No models are in ${folder}.`);
      for (const line of table(models)) print(line);
    });

  addFlags(program.command("pull"), [...FOLDER, "downloadRate"])
    .description("download models, or continue a download: hf:owner/repo:Q4_K_M, hf:owner/repo/file.gguf or an address")
    .argument("<source...>")
    .action(async (sources: string[], flags) => {
      const { folder, options } = await read(flags, deps);
      const stopped = new AbortController();
      deps.once?.("SIGINT", () => stopped.abort());
      for (const source of sources) print(await pull(source, folder, options, stopped.signal, deps));
    });

  addFlags(program.command("show"))
    .description("load a model as the server would, and print its properties and its memory plan")
    .argument("<model>", "a name of the list, a path or a source")
    .option("--json", "print JSON")
    .action(async (wanted: string, flags) => {
      const { folder, options } = await read(flags, deps);
      const model = [await sourceOf(wanted, folder)];
      const { logger, flush } = await openLog({ level: options.logLevel, format: options.logFormat });
      const { models, ok } = await examine({ ...options, model, upstream: [] }, logger);
      if (flags.json) print(JSON.stringify(models[0], null, 2));
      else for (const line of modelText(models[0]!, readMachine())) print(line);
      await flush();
      if (!ok) throw new OptionsError(`${wanted} cannot be loaded.`);
    });

  addFlags(program.command("rm"), FOLDER)
    .description("remove models; an engine that has one loaded keeps it until its process ends")
    .argument("<model...>", "a name, file or source of the list")
    .action(async (wanted: string[], flags) => {
      const { folder } = await read(flags, deps);
      for (const name of wanted) {
        const model = findStored(await storedModels(folder), name, folder);
        const freed = await removeStored(folder, model);
        print(`${model.name} removed, ${bytesText(freed)} free`);
      }
    });
  return program;
}

/** The options of the command line, environment and file; models of the file are not read. */
async function read(
  { json: _, ...flags }: Record<string, unknown>,
  { env }: ModelsCommandDeps,
): Promise<{ folder: string; options: Options }> {
  const options = await readOptions(flags, env, process.cwd());
  return { folder: modelsFolder(options), options };
}

async function pull(
  source: string,
  folder: string,
  options: Options,
  signal: AbortSignal,
  { env, stderr }: ModelsCommandDeps,
): Promise<string> {
  const say = (text: string) => stderr.write(`${text}\n`);
  const [model] = await resolveModels([source], {
    folder,
    env,
    signal,
    offline: false,
    bytesPerSecond: options.downloadRate,
    log: { info: (_, message) => void say(message), warn: (_, message) => void say(message) },
    onDownload: (name) => startProgress(`Downloading ${name}`, { terminal: stderr, log: say }),
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new OptionsError(
      `Interrupted. The received bytes are kept in ${folder}; the next pull continues from there.`,
    );
  });
  return model!.path;
}

/** The value of --model for a stored model, a path or a source. */
async function sourceOf(wanted: string, folder: string): Promise<string> {
  const models = await storedModels(folder);
  const isStored = namedModels(models, wanted).length > 0;
  if (!isStored && (existsSync(wanted) || /[/:]/.test(wanted))) return wanted;
  const { name, entry, received } = findStored(models, wanted, folder);
  if (received !== null)
    throw new OptionsError(`The download of ${name} has not ended: nightshift models pull continues it.`);
  return `${name}=${join(folder, entry)}`;
}

function table(models: readonly StoredModel[]): string[] {
  const rows = models.map((model) => [model.name, stateOf(model), model.uri ?? model.entry, bytesText(model.bytes)]);
  return columns([["name", "state", "source", "size"], ...rows], 3);
}

function stateOf({ uri, checked, received, bytes }: StoredModel): string {
  if (received !== null) return `${Math.floor((100 * received) / Math.max(1, bytes))} % downloaded`;
  if (uri === null) return "a file";
  return checked ? "checked" : "not checked";
}
