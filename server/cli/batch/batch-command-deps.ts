import type { Writable } from "node:stream";
import type { ProgressTerminal } from "../../models/download-progress.ts";

export interface BatchCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: Writable;
  stderr: ProgressTerminal;
  /** Aborted by Ctrl-C: nothing more is sent; a batch that exists goes on. */
  interrupted: AbortSignal;
  exitCode(code: number): void;
  /** Unix milliseconds. */
  now(): number;
  /** Between two looks at a batch. */
  pollMs?: number;
}
