#!/usr/bin/env node
import { writeSync } from "node:fs";
import { version } from "../platform/installation.ts";
import { buildProgram, withDefaultCommand } from "./cli/program.ts";
import { Hangup } from "./lifecycle/sighup.ts";

/** A reader that closes the pipe, such as `head`, is no error; output that could not be written is one. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  process.stderr.write(`error: the output could not be written: ${error.message}\n`);
  process.exit(1);
}
process.stdout.on("error", endWithReader);

/** Writes synchronously: the process ends after its help, before an error event could arrive. */
function writeHelp(text: string): void {
  try {
    writeSync(process.stdout.fd, text);
  } catch (error) {
    endWithReader(error as NodeJS.ErrnoException);
  }
}

const program = buildProgram(version(), {
  // Each command loads only its own modules; `--help` loads none.
  serve: async (flags) => {
    // Before the server's modules are loaded, because a SIGHUP without a handler ends the process.
    const hangup = new Hangup().listen();
    // A server outlives the readers of its output.
    process.stdout.off("error", endWithReader);
    await (await import("./serve-command.ts")).serveCommand(flags, hangup);
  },
  doctor: async (flags) => (await import("./cli/doctor-command.ts")).doctorCommand(flags),
  health: async (flags) => (await import("./cli/health-command.ts")).healthCommand(flags),
  usage: async (flags) => {
    await (await import("./cli/usage/usage-command.ts")).usageCommand(flags);
  },
  plan: async (flags) => {
    await (await import("./cli/plan-command.ts")).planCommand(flags);
  },
  routes: async (flags) => (await import("./cli/routes-command.ts")).routesCommand(flags),
  upstreams: async (flags) => (await import("./cli/upstreams-command.ts")).upstreamsCommand(flags),
  backup: async (to, flags) => (await import("./cli/backup-command.ts")).backupCommand(to, flags),
  restore: async (from, flags) => (await import("./cli/backup-command.ts")).restoreCommand(from, flags),
  chat: async (args) => {
    await (await import("./cli/chat/chat-command.ts")).chatCommand(args, process);
  },
  models: async (args) => {
    await (await import("./cli/models-command.ts")).modelsCommand(args, process);
  },
  files: async (args) => {
    await (await import("./cli/files-command.ts")).filesCommand(args, process);
  },
  keys: async (args) => {
    const { env, stdout, stderr } = process;
    await (await import("./cli/keys-command.ts")).keysCommand(args, { env, stdout, stderr, now: () => Date.now() });
  },
  export: async (args) => {
    await (await import("./cli/export-command.ts")).exportCommand(args, process);
  },
  owners: async (args) => {
    await (await import("./cli/owners-command.ts")).ownersCommand(args, process);
  },
  batch: async (args) => {
    const interrupted = new AbortController();
    process.once("SIGINT", () => interrupted.abort());
    await (await import("./cli/batch/batch-command.ts")).batchCommand(args, {
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      interrupted: interrupted.signal,
      exitCode: (code) => {
        process.exitCode = code;
      },
      now: () => Date.now(),
    });
  },
  bench: async (args) => {
    process.exitCode = await (await import("../bench/cli.ts")).run(args);
  },
});

for (const command of [program, ...program.commands]) command.configureOutput({ writeOut: writeHelp });
await program.parseAsync(withDefaultCommand(process.argv.slice(2)), { from: "user" });
