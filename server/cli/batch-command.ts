import { constants, createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { Command, Option } from "commander";
import { z } from "zod";
import { BATCH_ENDPOINTS, type Batch, batch, batchList } from "../../openapi/batches.ts";
import { OptionsError } from "../options/options-error.ts";
import type { ProgressTerminal } from "../progress.ts";
import { ApiClient, ApiFailure } from "./api-client.ts";
import { BatchProgress, batchLine } from "./batch-progress.ts";
import { download, uploadFile } from "./files-command.ts";
import { urlOption } from "./server-url.ts";

export interface BatchCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: Writable;
  stderr: ProgressTerminal;
  /** Aborted by Ctrl-C: a command that watches leaves, the batch goes on. */
  interrupted: AbortSignal;
  exitCode(code: number): void;
  /** Unix milliseconds. */
  now(): number;
  /** Between two looks at a batch. */
  pollMs?: number;
}

/**
 * | exit code | the batch |
 * |---|---|
 * | 0 | completed, every line answered |
 * | 1 | completed, some lines failed; or the command itself failed |
 * | 2 | failed validation |
 * | 3 | expired |
 * | 4 | was cancelled |
 * | 130 | goes on: Ctrl-C |
 */
const EXIT: Partial<Record<Batch["status"], number>> = { failed: 2, expired: 3, cancelled: 4 };
const INTERRUPTED = 130;
const POLL_MS = 500;
/** A server that restarts is waited for; one that is gone is not. */
const PATIENCE_MS = 60_000;

interface SubmitFlags {
  url?: string;
  endpoint?: string;
  metadata?: string[];
  json?: boolean;
}

/** `nightshift batch`: its arguments are those behind the name. Rejects with OptionsError for what went wrong. */
export async function batchCommand(args: readonly string[], deps: BatchCommandDeps): Promise<void> {
  await batchProgram(deps).parseAsync(args, { from: "user" });
}

export function batchProgram(deps: BatchCommandDeps): Command {
  const program = new Command("nightshift batch")
    .description("Batches of a server: run, submit, list, show, watch, cancel, errors.")
    .showHelpAfterError("Run with --help for what there is.");
  const client = ({ url }: { url?: string }) => new ApiClient(url, deps.env);
  const print = (line: string) => void deps.stdout.write(`${line}\n`);
  const command = (name: string, description: string) =>
    program.command(name).description(description).addOption(urlOption());
  const submitting = (name: string, description: string) =>
    command(name, description)
      .argument("<input.jsonl>")
      .addOption(new Option("--endpoint <path>", "default: that of the first line").choices(BATCH_ENDPOINTS))
      .option("--metadata <key=value...>", "kept with the batch");

  submitting("run", "submit, watch, and write the results")
    .option("-o, --output <path>", "where the results go (default: stdout)")
    .option("--errors <path>", "where failed lines go (default: beside the output, as .errors.jsonl)")
    .action(async (input: string, flags) => {
      await checkFolders([flags.output, flags.errors]);
      const server = client(flags);
      const { id } = await submit(server, input, flags, deps);
      deps.stderr.write(`${id}\n`);
      const over = await watch(server, id, deps);
      if (over !== null) await writeResults(server, over, flags, deps);
    });

  submitting("submit", "submit, and print the batch's id")
    .option("--json", "print the whole batch")
    .action(async (input: string, flags) => {
      const made = await submit(client(flags), input, flags, deps);
      print(flags.json ? JSON.stringify(made, null, 2) : made.id);
    });

  command("list", "list batches, the newest first")
    .option("--limit <n>", "at most so many, 1 to 100", "20")
    .option("--after <id>", "only those behind this one")
    .option("--json", "print JSON")
    .action(async (flags) => {
      const query = new URLSearchParams({ limit: flags.limit });
      if (flags.after !== undefined) query.set("after", flags.after);
      const list = await client(flags).call("GET", `batches?${query}`, batchList);
      if (flags.json) return print(JSON.stringify(list.data, null, 2));
      for (const one of list.data) print(`${one.id}  ${one.model ?? "-"}  ${batchLine(one, deps.now())}`);
      if (list.has_more) deps.stderr.write(`There are more: --after ${list.last_id}\n`);
    });

  command("show", "show one batch")
    .argument("<id>")
    .action(async (id: string, flags) => print(JSON.stringify(await get(client(flags), id), null, 2)));

  command("watch", "watch a batch until it ends")
    .argument("<id>")
    .action(async (id: string, flags) => {
      const over = await watch(client(flags), id, deps);
      if (over === null) return;
      for (const [what, fileId] of [
        ["Answers", over.output_file_id] as const,
        ["Errors", over.error_file_id] as const,
      ]) {
        if (fileId !== null) deps.stderr.write(`${what}: nightshift files get ${fileId}\n`);
      }
      sumUp(over, deps);
    });

  command("cancel", "cancel a batch; what has finished stays")
    .argument("<id>")
    .action(async (id: string, flags) => {
      print((await client(flags).call("POST", `${batchPath(id)}/cancel`, batch)).status);
    });

  command("errors", "print why a batch failed, or its failed lines")
    .argument("<id>")
    .action(async (id: string, flags) => {
      const server = client(flags);
      const found = await get(server, id);
      for (const error of found.errors?.data ?? []) {
        print(`${error.line === null ? "file" : `line ${error.line}`}: ${error.code}: ${error.message}`);
      }
      if (found.error_file_id !== null) await download(server, found.error_file_id, null, deps);
    });
  return program;
}

async function submit(client: ApiClient, path: string, flags: SubmitFlags, deps: BatchCommandDeps): Promise<Batch> {
  const endpoint = flags.endpoint ?? (await endpointOf(path));
  const metadata = flags.metadata === undefined ? null : Object.fromEntries(flags.metadata.map(pair));
  const { id } = await uploadFile(client, path, { purpose: "batch" }, deps);
  const body = { input_file_id: id, endpoint, completion_window: "24h", metadata };
  return client.call("POST", "batches", batch, body);
}

/** Before anything runs and is charged that could not be written then. */
async function checkFolders(paths: readonly (string | undefined)[]): Promise<void> {
  for (const path of paths) {
    if (path === undefined) continue;
    await access(dirname(path), constants.W_OK).catch((error: Error) => {
      throw new OptionsError(`${path} could not be written: ${error.message}`);
    });
  }
}

/** What the first line names; the server checks it and all others. */
async function endpointOf(path: string): Promise<string> {
  const line = await firstLine(path);
  if (line === null) throw new OptionsError(`${path} is empty: a batch has one request per line.`);
  let request: unknown;
  try {
    request = JSON.parse(line.replace(/^\uFEFF/, ""));
  } catch {
    throw new OptionsError(`The first line of ${path} is no JSON. Each request is one line of the file, whole.`);
  }
  const named = z.object({ url: z.string() }).safeParse(request);
  if (!named.success) throw new OptionsError(`The first line of ${path} names no url. Say it with --endpoint.`);
  return named.data.url;
}

/** The first that is not blank; null when none is. */
async function firstLine(path: string): Promise<string | null> {
  const lines = createInterface({ input: createReadStream(path) });
  try {
    for await (const line of lines) if (line.trim() !== "") return line;
    return null;
  } catch (error) {
    throw new OptionsError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  } finally {
    lines.close();
  }
}

function pair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new OptionsError(`--metadata takes key=value; it got ${JSON.stringify(text)}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The batch at its end; null when the user left before. */
async function watch(client: ApiClient, id: string, deps: BatchCommandDeps): Promise<Batch | null> {
  const progress = new BatchProgress(deps.stderr);
  const { interrupted, now, pollMs = POLL_MS } = deps;
  let heardAt = now();
  try {
    for (;;) {
      const found = await get(client, id).catch((error: unknown) => {
        if (!(error instanceof ApiFailure) || (error.status !== null && error.status < 500)) throw error;
        if (now() - heardAt > PATIENCE_MS) throw error;
        return null;
      });
      if (found !== null) {
        heardAt = now();
        progress.show(found, heardAt);
        if (["completed", "failed", "expired", "cancelled"].includes(found.status)) return found;
      }
      await wait(pollMs, undefined, { signal: interrupted });
    }
  } catch (error) {
    if (!interrupted.aborted) throw error;
    deps.stderr.write(`\nThe batch goes on. Watch it: nightshift batch watch ${id}\n`);
    deps.exitCode(INTERRUPTED);
    return null;
  } finally {
    progress.end();
  }
}

async function writeResults(
  client: ApiClient,
  over: Batch,
  flags: { output?: string; errors?: string },
  deps: BatchCommandDeps,
): Promise<void> {
  for (const error of over.errors?.data ?? []) {
    deps.stderr.write(`${error.line === null ? "file" : `line ${error.line}`}: ${error.message}\n`);
  }
  if (over.output_file_id !== null) await download(client, over.output_file_id, flags.output ?? null, deps);
  const errorPath = flags.errors ?? flags.output?.replace(/(\.jsonl)?$/, ".errors.jsonl");
  if (over.error_file_id !== null) {
    if (errorPath !== undefined) await download(client, over.error_file_id, errorPath, deps);
    const where = errorPath ?? `nightshift batch errors ${over.id}`;
    deps.stderr.write(`Lines that failed or did not run: ${where}\n`);
  }
  sumUp(over, deps);
}

function sumUp(over: Batch, deps: BatchCommandDeps): void {
  const { completed, failed, total } = over.request_counts;
  const came =
    over.status === "failed"
      ? "nothing ran, and nothing is charged"
      : `${completed} of ${total} lines answered, ${failed} failed, ` +
        `${over.usage.total_tokens} tokens, USD ${over.nightshift.cost.usd.toFixed(6)}`;
  deps.stderr.write(`${over.status}: ${came}\n`);
  deps.exitCode(EXIT[over.status] ?? (failed > 0 ? 1 : 0));
}

function get(client: ApiClient, id: string): Promise<Batch> {
  return client.call("GET", batchPath(id), batch);
}

function batchPath(id: string): string {
  return `batches/${encodeURIComponent(id)}`;
}
