import type { Writable } from "node:stream";
import type { ProgressTerminal } from "../../models/download-progress.ts";

export interface BatchCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: Writable;
  stderr: ProgressTerminal;
  /** Aborted by Ctrl-C: no further request is sent; a batch that exists continues. */
  interrupted: AbortSignal;
  exitCode(code: number): void;
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds between two polls of a batch. */
  pollMs?: number;
}
