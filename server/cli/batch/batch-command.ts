import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Command, Option } from "commander";
import { BATCH_ENDPOINTS, type Batch, batch, batchList } from "../../../openapi/resources/batches.ts";
import { OptionsError } from "../../../platform/options-error.ts";
import { ApiClient, ApiFailure, Interrupted } from "../client/api-client.ts";
import { urlOption } from "../client/server-url.ts";
import { download } from "../files-command.ts";
import { columns } from "../text/columns.ts";
import type { BatchCommandDeps } from "./batch-command-deps.ts";
import { BatchProgress, batchLine } from "./batch-progress.ts";
import { submit, submitOnce } from "./submission.ts";

/**
 * | exit code | the batch |
 * |---|---|
 * | 0 | completed, all lines succeeded |
 * | 1 | completed, some lines failed; or the command itself failed |
 * | 2 | failed validation |
 * | 3 | expired |
 * | 4 | was cancelled |
 * | 130 | Ctrl-C: the command ended; a batch that was created continues |
 */
const EXIT: Partial<Record<Batch["status"], number>> = { failed: 2, expired: 3, cancelled: 4 };
const INTERRUPTED = 130;
const POLL_MS = 500;
/** Milliseconds without an answer after which a watch fails: longer than a restart of the server. */
const WATCH_TIMEOUT_MS = 60_000;

/** Runs `nightshift batch` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function batchCommand(args: readonly string[], deps: BatchCommandDeps): Promise<void> {
  try {
    await batchProgram(deps).parseAsync(args, { from: "user" });
  } catch (error) {
    if (!deps.interrupted.aborted || !(error instanceof Interrupted)) throw error;
    deps.stderr.write("Interrupted; nothing was submitted.\n");
    deps.exitCode(INTERRUPTED);
  }
}

export function batchProgram(deps: BatchCommandDeps): Command {
  const program = new Command("nightshift batch")
    .description("Batches of a server: run, submit, list, show, watch, cancel, errors.")
    .showHelpAfterError("Run with --help for usage.");
  const client = ({ url }: { url?: string }) => new ApiClient(url, deps.env, deps.interrupted);
  const print = (line: string) => void deps.stdout.write(`${line}\n`);
  const command = (name: string, description: string) =>
    program.command(name).description(description).addOption(urlOption());
  const submitting = (name: string, description: string) =>
    command(name, description)
      .argument("<input.jsonl>")
      .addOption(new Option("--endpoint <path>", "default: the url of the first line").choices(BATCH_ENDPOINTS))
      .option("--metadata <key=value>", "stored with the batch. Repeatable", pair);

  const writing = (made: Command) =>
    made
      .option("-o, --output <path>", "file of the results (default: stdout)")
      .option("--errors <path>", "file of failed lines (default: beside the output, as .errors.jsonl)");

  writing(submitting("run", "submit, watch, and write the results"))
    .option("--again", "create a new batch even if one of the same file runs or is completed")
    .addHelpText(
      "after",
      "\nA second run with the same file continues its batch, so that no line is computed or charged twice.",
    )
    .action(async (input: string, flags) => {
      await checkFolders([flags.output, flags.errors]);
      const server = client(flags);
      const found = flags.again
        ? { batch: await submit(server, input, flags, deps), again: false }
        : await submitOnce(server, input, flags, deps);
      const { id, status } = found.batch;
      deps.stderr.write(`${id}\n`);
      if (found.again)
        deps.stderr.write(`This file was submitted before; its batch is ${status}. --again creates a new batch.\n`);
      const over = await watch(server, id, deps);
      if (over !== null) await writeResults(server, over, flags, deps);
    });

  submitting("submit", "submit, and print the batch's id")
    .option("--json", "print the whole batch")
    .action(async (input: string, flags) => {
      const made = await submit(client(flags), input, flags, deps);
      print(flags.json ? JSON.stringify(made, null, 2) : made.id);
    });

  command("list", "list batches, newest first")
    .option("--limit <n>", "maximum number, 1 to 100", "20")
    .option("--after <id>", "continue the list after this id")
    .option("--json", "print JSON")
    .action(async (flags) => {
      const query = new URLSearchParams({ limit: flags.limit });
      if (flags.after !== undefined) query.set("after", flags.after);
      const list = await client(flags).call("GET", `batches?${query}`, batchList);
      if (flags.json) return print(JSON.stringify(list.data, null, 2));
      const rows = list.data.map((one) => [one.id, one.model ?? "-", batchLine(one, deps.now())]);
      for (const line of columns([["id", "model", "state"], ...rows], 3)) print(line);
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

  writing(command("results", "write the results of a finished batch"))
    .argument("<id>")
    .action(async (id: string, flags) => {
      await checkFolders([flags.output, flags.errors]);
      const server = client(flags);
      const found = await get(server, id);
      if (!isFinished(found)) throw new OptionsError(`The batch is ${found.status}: nightshift batch watch ${id}`);
      await writeResults(server, found, flags, deps);
    });

  command("cancel", "cancel a batch; finished lines are kept")
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

/** Checks that results can be written, before any line runs and is charged. */
async function checkFolders(paths: readonly (string | undefined)[]): Promise<void> {
  for (const path of paths) {
    if (path === undefined) continue;
    await access(dirname(path), constants.W_OK).catch((error: Error) => {
      throw new OptionsError(`${path} could not be written: ${error.message}`);
    });
  }
}

function pair(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new OptionsError(`--metadata takes key=value; it got ${JSON.stringify(text)}.`);
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

function isFinished({ status }: Batch): boolean {
  return ["completed", "failed", "expired", "cancelled"].includes(status);
}

/** The finished batch; null after Ctrl-C. */
async function watch(client: ApiClient, id: string, deps: BatchCommandDeps): Promise<Batch | null> {
  const progress = new BatchProgress(deps.stderr);
  const { interrupted, now, pollMs = POLL_MS } = deps;
  let answeredAt = now();
  try {
    for (;;) {
      const found = await get(client, id).catch((error: unknown) => {
        if (!(error instanceof ApiFailure) || (error.status !== null && error.status < 500)) throw error;
        if (now() - answeredAt > WATCH_TIMEOUT_MS) throw error;
        return null;
      });
      if (found !== null) {
        answeredAt = now();
        progress.show(found, answeredAt);
        if (isFinished(found)) return found;
      }
      await wait(pollMs, undefined, { signal: interrupted });
    }
  } catch (error) {
    if (!interrupted.aborted) throw error;
    deps.stderr.write(`\nThe batch continues. Watch it: nightshift batch watch ${id}\n`);
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
