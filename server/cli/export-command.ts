import type { Writable } from "node:stream";
import { Command, Option } from "commander";
import { OptionsError } from "../../platform/options-error.ts";
import type { ProgressTerminal } from "../models/download-progress.ts";
import { ApiClient } from "./client/api-client.ts";
import { urlOption } from "./client/server-url.ts";
import { save } from "./files-command.ts";

/** Environment and streams of the command; those of the process fit. */
export interface ExportCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: Writable;
  stderr: ProgressTerminal;
}

interface ExportFlags {
  url?: string;
  source?: string;
  model?: string;
  metadata: [string, string][];
  after?: number;
  before?: number;
  finishReason?: string;
  output?: string;
  validation?: string;
  validationPercent: string;
}

/** Runs `nightshift export` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function exportCommand(args: readonly string[], deps: ExportCommandDeps): Promise<void> {
  await exportProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process, as commander does. */
export function exportProgram(deps: ExportCommandDeps): Command {
  return new Command("nightshift export")
    .description("Write stored answers as JSONL for fine-tuning, one chat a line.")
    .addHelpText("after", "\nWithout --output the lines go to stdout. Dates are UTC unless they name a zone.")
    .showHelpAfterError("Run with --help for usage.")
    .addOption(urlOption())
    .addOption(new Option("--source <source>", "default: both").choices(["chat.completions", "responses"]))
    .option("--model <id>", "only answers of this model")
    .option("--metadata <key=value>", "only answers with this pair; may be repeated", addPair, [])
    .option("--after <date>", "only answers from this date on", unixSeconds)
    .option("--before <date>", "only answers before this date", unixSeconds)
    .addOption(
      new Option("--finish-reason <reason>", "default: stop and tool_calls").choices(["stop", "tool_calls", "length"]),
    )
    .option("-o, --output <path>", "file to write to")
    .option("--validation <path>", "file for the validation part; --output then has the rest")
    .option("--validation-percent <n>", "share of the validation part", "10")
    .action(async (flags: ExportFlags) => {
      const client = new ApiClient(flags.url, deps.env);
      const { output = null, validation } = flags;
      if (validation === undefined) return save(client, exportOf(flags), output, deps);
      await save(client, exportOf(flags, "train"), output, deps);
      await save(client, exportOf(flags, "validation"), validation, deps);
    });
}

function exportOf(flags: ExportFlags, split?: "train" | "validation"): { path: string; name: string } {
  const query = new URLSearchParams();
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined) query.set(name, String(value));
  };
  set("source", flags.source);
  set("model", flags.model);
  set("created_after", flags.after);
  set("created_before", flags.before);
  set("finish_reason", flags.finishReason);
  for (const [key, value] of flags.metadata) set(`metadata[${key}]`, value);
  set("split", split);
  if (split !== undefined) set("validation_percent", flags.validationPercent);
  return { path: `nightshift/export?${query}`, name: "The export" };
}

function addPair(text: string, pairs: [string, string][]): [string, string][] {
  const at = text.indexOf("=");
  if (at < 1) throw new OptionsError(`--metadata needs key=value, but is '${text}'.`);
  return [...pairs, [text.slice(0, at), text.slice(at + 1)]];
}

function unixSeconds(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new OptionsError(`'${text}' is no date, such as 2026-01-31 or 2026-01-31T12:00:00Z.`);
  return Math.floor(ms / 1000);
}
