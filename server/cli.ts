#!/usr/bin/env node
import { buildProgram, withDefaultCommand } from "./cli/program.ts";
import { version } from "./installation.ts";

const program = buildProgram(version(), {
  // Each command loads its own part alone: `--help` needs none of them.
  serve: async (flags) => (await import("./cli/serve-command.ts")).serveCommand(flags),
  doctor: async (flags) => (await import("./cli/doctor-command.ts")).doctorCommand(flags),
  usage: async (flags) => (await import("./cli/usage-command.ts")).usageCommand(flags),
  plan: async (flags) => (await import("./cli/plan-command.ts")).planCommand(flags),
  files: async (args) => (await import("./cli/files-command.ts")).filesCommand(args, process),
  batch: async (args) => {
    const interrupted = new AbortController();
    process.once("SIGINT", () => interrupted.abort());
    await (await import("./cli/batch-command.ts")).batchCommand(args, {
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

await program.parseAsync(withDefaultCommand(process.argv.slice(2)), { from: "user" });
