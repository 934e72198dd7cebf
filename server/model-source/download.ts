import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { OptionsError } from "../options/options-error.ts";
import { type Announcement, announcementOf, closed, notFound } from "./announcement.ts";
import { type DownloadRecord, readRecord, sizeOf, writeRecord } from "./download-record.ts";
import { type DownloadedFiles, DownloadFailure, downloadInThread } from "./download-thread.ts";
import { checkGgufFile } from "./gguf-file.ts";
import type { Hub } from "./hub.ts";
import type { ModelValue } from "./model-value.ts";

type RemoteModel = Extract<ModelValue, { kind: "remote" }>;

/** Hears how far a download is, in bytes. */
export interface DownloadProgress {
  update(done: number, total: number): void;
  end(): void;
}

export interface DownloadOptions {
  folder: string;
  hub: Hub;
  /** Called when a model has to be downloaded. */
  onDownload(name: string): DownloadProgress;
  /** Stops a download; what has come stays, and the next one goes on from there. */
  signal: AbortSignal;
}

/**
 * The path of a remote model: the file of an earlier download if its record holds, without a word to the network; else
 * downloaded now, which goes on where an interrupted one stopped, and checked against the size and the hash that were announced.
 */
export async function downloadModel(model: RemoteModel, options: DownloadOptions): Promise<string> {
  const { folder, hub, signal } = options;
  const known = await readRecord(folder, model.uri);
  if (known !== null) return join(folder, known.entry);

  await mkdir(folder, { recursive: true });
  const announced = await announcementOf(model, hub, signal);
  const progress = options.onDownload(model.name);
  let downloaded: DownloadedFiles;
  try {
    downloaded = await download(model, options, progress);
  } finally {
    progress.end();
  }

  const record = await checkFiles(model, downloaded, announced, folder);
  const path = await checkGgufFile(join(folder, record.entry)).catch(async (error: unknown) => {
    await discard(record, folder);
    throw error;
  });
  await writeRecord(folder, record);
  return path;
}

/** Tries again for as long as each try brings more: the storage's addresses that a hub hands out end after an hour. */
async function download(
  model: RemoteModel,
  { folder, hub, signal }: DownloadOptions,
  progress: DownloadProgress,
): Promise<DownloadedFiles> {
  const order = { uri: model.uri, folder, ...hub };
  let most = 0;
  for (;;) {
    let reached = 0;
    try {
      return await downloadInThread(
        order,
        (done, total) => {
          most = Math.max(most, done);
          return checkRoom(model, total - done, folder);
        },
        (done, total) => {
          reached = Math.max(reached, done);
          progress.update(done, total);
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof DownloadFailure)) throw error;
      if (!error.opened) throw refusal(model, hub, error.message);
      if (reached <= most) {
        throw new OptionsError(
          `The download of ${model.uri} stopped: ${error.message}. Start again: it goes on from where it stopped.`,
        );
      }
      most = reached;
    }
  }
}

function refusal(model: RemoteModel, hub: Hub, message: string): OptionsError {
  if (/\b404\b|does not exist/.test(message)) return notFound(model);
  if (/\b40[13]\b/.test(message)) return closed(model.uri, hub);
  return new OptionsError(`${model.uri} cannot be downloaded: ${message}.`);
}

async function checkRoom(model: RemoteModel, needed: number, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (needed <= bavail * bsize) return;
  throw new OptionsError(
    `${model.uri} needs ${gigabytes(needed)} more, and ${folder} has room for ${gigabytes(bavail * bsize)}. ` +
      "Make room, or name another folder with --models-dir.",
  );
}

async function checkFiles(
  model: RemoteModel,
  { entry, files, spliced }: DownloadedFiles,
  announced: Announcement,
  folder: string,
): Promise<DownloadRecord> {
  const record = { uri: model.uri, entry, files };
  // Of a model in parts, the announcement was of the first.
  for (const [i, file] of files.entries()) {
    const { bytes, sha256 } = i === 0 && !spliced ? announced : { bytes: null, sha256: null };
    const expected = bytes ?? file.size;
    const path = join(folder, file.name);
    const size = await sizeOf(path);
    let fault = size === expected ? null : `has ${size ?? 0} bytes, and ${expected} were announced`;
    if (fault === null && sha256 !== null && (await sha256Of(path)) !== sha256) {
      fault = `is not what was announced (SHA-256 ${sha256})`;
    }
    if (fault === null) continue;
    await discard(record, folder);
    throw new OptionsError(
      `The download of ${model.uri} is broken: ${file.name} ${fault}. It was deleted; start again.`,
    );
  }
  return record;
}

/** Hex. Of a file of 5 GB it takes some ten seconds, once. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk);
  return hash.digest("hex");
}

async function discard(record: DownloadRecord, folder: string): Promise<void> {
  for (const file of record.files) await rm(join(folder, file.name), { force: true });
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
