import { Command } from "commander";
import { OptionsError } from "../../platform/options-error.ts";
import { baseUrlLines, baseUrls } from "../options/base-urls.ts";
import { addFlags } from "../options/flags.ts";
import { OPTIONS } from "../options/table.ts";
import type { DataDirFlags } from "./backup-command.ts";
import { urlOption } from "./client/server-url.ts";
import type { PlanFlags } from "./plan-command.ts";
import type { RoutesFlags } from "./routes-command.ts";
import type { UpstreamsFlags } from "./upstreams-command.ts";
import type { UsageFlags } from "./usage/usage-command.ts";

/** The base URLs of a server with the default address. */
function baseUrlHelp(): string {
  const { host, port } = OPTIONS;
  const lines = baseUrlLines(baseUrls(`http://${host.default}:${port.default}`, true));
  return `\nBase URLs:\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

/** The actions of the commands. Flags are unchecked text by option key. */
export interface Actions {
  serve(flags: Record<string, unknown>): Promise<void>;
  doctor(flags: Record<string, unknown>): Promise<void>;
  health(flags: Record<string, unknown>): Promise<void>;
  usage(flags: UsageFlags): Promise<void>;
  plan(flags: PlanFlags): Promise<void>;
  routes(flags: RoutesFlags): Promise<void>;
  upstreams(flags: UpstreamsFlags): Promise<void>;
  backup(to: string, flags: DataDirFlags): Promise<void>;
  restore(from: string, flags: DataDirFlags & { force?: boolean }): Promise<void>;
  chat(args: string[]): Promise<void>;
  models(args: string[]): Promise<void>;
  files(args: string[]): Promise<void>;
  keys(args: string[]): Promise<void>;
  export(args: string[]): Promise<void>;
  owners(args: string[]): Promise<void>;
  batch(args: string[]): Promise<void>;
  bench(args: string[]): Promise<void>;
}

const HINT = `
Every option is also an environment variable (--data-dir: NIGHTSHIFT_DATA_DIR) and a key of nightshift.yaml (dataDir).
A flag beats the environment, the environment beats the file.`;

/** The command line. An OptionsError of an action is printed as its message, without a stack. */
export function buildProgram(version: string, actions: Actions): Command {
  const program = new Command("nightshift")
    .description(
      "A server for language models, with the APIs of OpenAI (chat completions, Responses), Anthropic and Ollama.",
    )
    .version(version)
    .showHelpAfterError("Run with --help for usage.")
    // chat, models, files, keys, export, owners, batch and bench parse their own flags.
    .enablePositionalOptions()
    .addHelpText("after", "\nThe default command is serve: nightshift --port 9000 is nightshift serve --port 9000.")
    .addHelpText("after", baseUrlHelp);

  addFlags(program.command("serve"))
    .description("serve models over HTTP (the default)")
    .addHelpText("after", HINT)
    .action((flags) => orPrintOptionsError(program, () => actions.serve(flags)));

  addFlags(program.command("doctor"))
    .description("check hardware, libraries, models and upstreams, and recommend settings")
    .option("--json", "print JSON")
    .addHelpText("after", HINT)
    .action((flags) => orPrintOptionsError(program, () => actions.doctor(flags)));

  addFlags(program.command("health"))
    .description("check that the server with these options answers, for health checks: exit 0 or 1")
    .addHelpText("after", HINT)
    .action((flags) => orPrintOptionsError(program, () => actions.health(flags)));

  program
    .command("usage")
    .description("print usage, its cost, and the machine time that it took")
    .addOption(urlOption())
    .option("--by <list>", "group by some of key, owner, model, endpoint, tier and upstream", "endpoint,model,tier")
    .option("--since <time>", "length of the period until now: 24h, 7d, 4w", "7d")
    .option("--csv", "print CSV")
    .option("--json", "print JSON")
    .action((flags) => orPrintOptionsError(program, () => actions.usage(flags)));

  program
    .command("plan")
    .description("print the cost of a server's engines by batch size, from measured steps")
    .addOption(urlOption())
    .option("--json", "print JSON")
    .action((flags) => orPrintOptionsError(program, () => actions.plan(flags)));

  program
    .command("upstreams")
    .description("print a server's upstreams: models, and health, load, limit and breaker of each replica")
    .addOption(urlOption())
    .option("--json", "print JSON")
    .action((flags) => orPrintOptionsError(program, () => actions.upstreams(flags)));

  program
    .command("routes")
    .description(
      "print a server's routes: state, wait and learned cost of each model, where requests went, and the saving",
    )
    .addOption(urlOption())
    .option("--json", "print JSON")
    .action((flags) => orPrintOptionsError(program, () => actions.routes(flags)));

  dataDirCommand(program, "backup", "<dir>")
    .description("copy a data directory to a new directory; its server may run")
    .action((to: string, flags) => orPrintOptionsError(program, () => actions.backup(to, flags)));

  dataDirCommand(program, "restore", "<dir>")
    .description("restore a backup into a data directory that no server uses")
    .option("--force", "move existing data aside")
    .action((from: string, flags) => orPrintOptionsError(program, () => actions.restore(from, flags)));

  passedOn(program, "chat")
    .description("chat with a model of a server: nightshift chat --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.chat(args)));

  passedOn(program, "models")
    .description("list, download, show or remove model files on this machine: nightshift models --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.models(args)));

  passedOn(program, "files")
    .description("list, upload, get or delete files of a server: nightshift files --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.files(args)));

  passedOn(program, "keys")
    .description(
      "create, list, revoke or rotate API keys of a server, or show and set their limits: nightshift keys --help",
    )
    .action((args: string[]) => orPrintOptionsError(program, () => actions.keys(args)));

  passedOn(program, "export")
    .description("write stored answers as JSONL for fine-tuning: nightshift export --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.export(args)));
  passedOn(program, "owners")
    .description("erase the stored data of an owner: nightshift owners --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.owners(args)));

  passedOn(program, "batch")
    .description("run, submit, watch, cancel or list batches of a server: nightshift batch --help")
    .action((args: string[]) => orPrintOptionsError(program, () => actions.batch(args)));

  passedOn(program, "bench")
    .description("run benchmarks: nightshift bench --help")
    .action((args: string[]) => actions.bench(args));

  return program;
}

/** A command that parses its own arguments, including --help. */
function passedOn(program: Command, name: string): Command {
  return program.command(name).argument("[args...]").allowUnknownOption().passThroughOptions().helpOption(false);
}

function dataDirCommand(program: Command, name: string, argument: string): Command {
  return program
    .command(name)
    .argument(argument)
    .option("--data-dir <dir>", `the data directory (default: ${OPTIONS.dataDir.default})`)
    .option("--config <file>", "the configuration file that sets it");
}

/** Flags without a command belong to serve, except --help and --version. */
export function withDefaultCommand(args: readonly string[]): string[] {
  const [first] = args;
  const own = ["--help", "-h", "--version", "-V"];
  if (first === undefined || (first.startsWith("-") && !own.includes(first))) return ["serve", ...args];
  return [...args];
}

async function orPrintOptionsError(program: Command, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    program.showHelpAfterError(false).error(`error: ${error.message}`);
  }
}
