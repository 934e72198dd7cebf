import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import { MAX_FILE_BYTES, MAX_PART_BYTES } from "../../files/purpose-rules.ts";
import { type File, file, fileDeleted, fileList, UPLOAD_PURPOSES } from "../../openapi/resources/files.ts";
import { upload, uploadPart } from "../../openapi/resources/uploads.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { type ProgressTerminal, startProgress } from "../models/download-progress.ts";
import { ApiClient, Interrupted } from "./client/api-client.ts";
import { urlOption } from "./client/server-url.ts";
import { columns } from "./text/columns.ts";
import { minuteOf } from "./text/minute.ts";

/** Environment and streams of the commands; those of the process fit. */
export interface FilesCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: Writable;
  stderr: ProgressTerminal;
  /** Maximum bytes of one form and of one part; by default those of the server. */
  limits?: Limits;
}

interface Limits {
  form: number;
  part: number;
}

interface UploadFlags {
  url?: string;
  purpose?: string;
  expiresAfter?: string;
  json?: boolean;
}

/** Runs `nightshift files` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function filesCommand(args: readonly string[], deps: FilesCommandDeps): Promise<void> {
  await filesProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process, as commander does. */
export function filesProgram(deps: FilesCommandDeps): Command {
  const program = new Command("nightshift files")
    .description("Files of a server: list, upload, get, delete.")
    .showHelpAfterError("Run with --help for usage.");
  const client = ({ url }: { url?: string }) => new ApiClient(url, deps.env);
  const print = (line: string) => void deps.stdout.write(`${line}\n`);

  program
    .command("list")
    .description("list files, newest first")
    .addOption(urlOption())
    .option("--purpose <purpose>", "only files of this purpose")
    .option("--limit <n>", "maximum number", "100")
    .option("--after <id>", "continue the list after this id")
    .option("--json", "print JSON")
    .action(async (flags) => {
      const query = new URLSearchParams({ limit: flags.limit });
      if (flags.purpose !== undefined) query.set("purpose", flags.purpose);
      if (flags.after !== undefined) query.set("after", flags.after);
      const list = await client(flags).call("GET", `files?${query}`, fileList);
      if (flags.json) return print(JSON.stringify(list.data, null, 2));
      for (const line of table(list.data)) print(line);
      if (list.has_more) deps.stderr.write(`There are more: --after ${list.last_id}\n`);
    });

  program
    .command("upload")
    .description("upload a file and print its id")
    .argument("<path>")
    .addOption(urlOption())
    .addOption(new Option("--purpose <purpose>", "default: batch for .jsonl, else user_data").choices(UPLOAD_PURPOSES))
    .option("--expires-after <seconds>", "time from creation to deletion")
    .option("--json", "print the whole file object")
    .action(async (path: string, flags: UploadFlags) => {
      const made = await uploadFile(client(flags), path, flags, deps);
      print(flags.json ? JSON.stringify(made, null, 2) : made.id);
    });

  program
    .command("get")
    .description("write a file's content to stdout, or to a file")
    .argument("<id>")
    .addOption(urlOption())
    .option("-o, --output <path>", "file to write to")
    .action(async (id: string, flags) => {
      await download(client(flags), id, flags.output ?? null, deps);
    });

  program
    .command("delete")
    .description("delete files")
    .argument("<ids...>")
    .addOption(urlOption())
    .action(async (ids: string[], flags) => {
      const server = client(flags);
      for (const id of ids) {
        await server.call("DELETE", filePath(id), fileDeleted);
        print(`${id} deleted`);
      }
    });
  return program;
}

/** Uploads a file in one form, or in parts if it exceeds the limit of a form. */
export async function uploadFile(
  client: ApiClient,
  path: string,
  flags: UploadFlags,
  { stderr: terminal, limits = { form: MAX_FILE_BYTES, part: MAX_PART_BYTES } }: FilesCommandDeps,
): Promise<File> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) throw new OptionsError(`There is no file ${path}.`);
  const { size } = found;
  const filename = basename(path);
  const purpose = flags.purpose ?? (filename.toLowerCase().endsWith(".jsonl") ? "batch" : "user_data");
  const seconds = flags.expiresAfter;
  const progress = startProgress(filename, { terminal, log: () => {} });
  const slice = (field: string, start: number, bytes: number) => ({ field, path, filename, start, bytes });
  try {
    if (size <= limits.form) {
      const expiry = seconds && { "expires_after[anchor]": "created_at", "expires_after[seconds]": seconds };
      const whole = slice("file", 0, size);
      return await client.upload("files", file, { purpose, ...expiry }, whole, (done) => progress.update(done, size));
    }
    const { id } = await client.call("POST", "uploads", upload, {
      filename,
      purpose,
      bytes: size,
      mime_type: "application/octet-stream",
      ...(seconds && { expires_after: { anchor: "created_at", seconds: Number(seconds) } }),
    });
    const partIds: string[] = [];
    try {
      for (let start = 0; start < size; start += limits.part) {
        const part = slice("data", start, Math.min(limits.part, size - start));
        const sent = (done: number) => progress.update(start + done, size);
        partIds.push((await client.upload(`uploads/${id}/parts`, uploadPart, {}, part, sent)).id);
      }
    } catch (error) {
      // Parts that were received count against the storage quota until the upload expires.
      if (error instanceof Interrupted) await client.lasting().call("POST", `uploads/${id}/cancel`, upload, {});
      throw error;
    }
    const completed = await client.call("POST", `uploads/${id}/complete`, upload, { part_ids: partIds });
    return file.parse(completed.file);
  } finally {
    progress.end();
  }
}

/** Writes a file's content to stdout or a file. */
export function download(client: ApiClient, id: string, output: string | null, deps: FilesCommandDeps): Promise<void> {
  return save(client, { path: `${filePath(id)}/content`, name: id }, output, deps);
}

/** Writes what a path of the API answers to stdout, or to `<output>.part`, which is renamed when it is complete. */
export async function save(
  client: ApiClient,
  { path, name }: { path: string; name: string },
  output: string | null,
  deps: FilesCommandDeps,
): Promise<void> {
  const response = await client.download(path);
  const content = Readable.fromWeb(response.body ?? new ReadableStream());
  if (output === null) {
    // stdout belongs to the process, and is not ended here.
    try {
      for await (const chunk of content) if (!deps.stdout.write(chunk)) await drained(deps.stdout);
    } catch (error) {
      throw new OptionsError(`${name} was interrupted: ${(error as Error).message}`);
    }
    return;
  }
  const total = Number(response.headers.get("content-length") ?? 0);
  const progress = startProgress(basename(output), { terminal: deps.stderr, log: () => {} });
  const partial = `${output}.part`;
  try {
    let done = 0;
    const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        done += chunk.byteLength;
        progress.update(done, total);
        yield chunk;
      }
    };
    await pipeline(content, counted, createWriteStream(partial));
    await rename(partial, output);
  } catch (error) {
    await rm(partial, { force: true });
    throw new OptionsError(`${name} could not be written to ${output}: ${(error as Error).message}`);
  } finally {
    progress.end();
  }
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("drain", resolve);
    stream.once("close", resolve);
  });
}

function filePath(id: string): string {
  return `files/${encodeURIComponent(id)}`;
}

function table(files: readonly File[]): string[] {
  const rows = files.map((row) => [
    row.id,
    row.purpose,
    String(row.bytes),
    minuteOf(row.created_at),
    row.expires_at === null ? "never" : minuteOf(row.expires_at),
    // A file name is chosen by a client and may contain terminal control characters.
    row.filename.replace(/\p{Cc}/gu, "?"),
  ]);
  const head = ["id", "purpose", "bytes", "created", "expires", "name"];
  return columns([head, ...rows], head.length);
}
