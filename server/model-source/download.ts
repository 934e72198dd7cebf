import { mkdir, rm, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ModelDownloader } from "node-llama-cpp";
import { OptionsError } from "../options/options-error.ts";
import { announcedSize, causeOf, closed, notFound } from "./announcement.ts";
import { type DownloadRecord, readRecord, sizeOf, writeRecord } from "./download-record.ts";
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
 * downloaded now, which goes on where an interrupted one stopped, and checked against the size that was announced.
 */
export async function downloadModel(model: RemoteModel, options: DownloadOptions): Promise<string> {
  const { folder, hub, signal } = options;
  const known = await readRecord(folder, model.uri);
  if (known !== null) return join(folder, known.entry);

  await mkdir(folder, { recursive: true });
  const announced = await announcedSize(model, hub, signal);
  const progress = options.onDownload(model.name);
  let downloader: ModelDownloader;
  try {
    downloader = await openDownload(model, options, progress);
    await checkRoom(model, downloader, folder);
    await run(model, downloader, signal);
  } finally {
    progress.end();
  }

  const record = await checkFiles(model, downloader, announced, folder);
  const path = await checkGgufFile(join(folder, record.entry)).catch(async (error: unknown) => {
    await discard(record, folder);
    throw error;
  });
  await writeRecord(folder, record);
  return path;
}

async function openDownload(
  model: RemoteModel,
  { folder, hub }: DownloadOptions,
  progress: DownloadProgress,
): Promise<ModelDownloader> {
  // Its import takes half a second, which a start that downloads nothing need not spend.
  const { createModelDownloader } = await import("node-llama-cpp");
  try {
    return await createModelDownloader({
      modelUri: model.uri,
      dirPath: folder,
      deleteTempFileOnCancel: false,
      onProgress: ({ downloadedSize, totalSize }) => progress.update(downloadedSize, totalSize),
      endpoints: { huggingFace: hub.endpoint },
      ...(hub.token === null ? {} : { tokens: { huggingFace: hub.token } }),
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/\b404\b|does not exist/.test(message)) throw notFound(model);
    if (/\b40[13]\b/.test(message)) throw closed(model.uri, hub);
    throw new OptionsError(`${model.uri} cannot be downloaded: ${message}.`);
  }
}

async function run(model: RemoteModel, downloader: ModelDownloader, signal: AbortSignal): Promise<void> {
  // ipull (3.9) awaits its parallel streams one by one: the failure of a later one is unhandled, and would end this
  // process before the first one's is told.
  const ignoreStreams = (error: unknown) => {
    if (!(error instanceof Error && error.stack?.includes("ipull"))) throw error;
  };
  process.on("unhandledRejection", ignoreStreams);
  try {
    // A stream that waits for an answer is deaf to its abort, so that a stop is not left to the downloader.
    await Promise.race([downloader.download({ signal }), aborted(signal)]);
  } catch (error) {
    signal.throwIfAborted();
    throw new OptionsError(
      `The download of ${model.uri} stopped: ${causeOf(error)}. Start again: it goes on from where it stopped.`,
    );
  } finally {
    process.off("unhandledRejection", ignoreStreams);
  }
  signal.throwIfAborted();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function checkRoom(model: RemoteModel, downloader: ModelDownloader, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = downloader.totalSize - downloader.downloadedSize;
  if (needed <= bavail * bsize) return;
  await downloader.cancel();
  throw new OptionsError(
    `${model.uri} needs ${gigabytes(needed)} more, and ${folder} has room for ${gigabytes(bavail * bsize)}. ` +
      "Make room, or name another folder with --models-dir.",
  );
}

async function checkFiles(
  model: RemoteModel,
  downloader: ModelDownloader,
  announced: number | null,
  folder: string,
): Promise<DownloadRecord> {
  const files = downloader.filesInfo.map(({ filePath, totalSize }) => ({ name: basename(filePath), size: totalSize }));
  const record = { uri: model.uri, entry: downloader.entrypointFilename, files };
  // Of a model in parts, the announcement was of the first.
  const single = downloader.splitBinaryParts === undefined;
  for (const [i, file] of files.entries()) {
    const expected = i === 0 && single && announced !== null ? announced : file.size;
    const size = await sizeOf(join(folder, file.name));
    if (size === expected) continue;
    await discard(record, folder);
    throw new OptionsError(
      `The download of ${model.uri} is broken: ${file.name} has ${size ?? 0} bytes, and ${expected} were announced. ` +
        "It was deleted; start again.",
    );
  }
  return record;
}

async function discard(record: DownloadRecord, folder: string): Promise<void> {
  for (const file of record.files) await rm(join(folder, file.name), { force: true });
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
