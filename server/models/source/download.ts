import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { OptionsError } from "../../../platform/options-error.ts";
import { DownloadRate } from "./download-rate.ts";
import { type DownloadRecord, readRecord, writeRecord } from "./download-record.ts";
import { checkGgufFile } from "./gguf-file.ts";
import { HttpClient, type HttpClientOptions, HttpFault } from "./http-client.ts";
import type { Hub } from "./hub.ts";
import type { RemoteModel } from "./model-value.ts";
import { bytesKept, PartialFile, removePartial } from "./partial-file.ts";
import { type RemoteFile, remoteFileOf } from "./remote-file.ts";
import { type RemoteFiles, remoteFilesOf } from "./remote-files.ts";
import { ContentChanged, TRANSFER_RULES, type TransferDeps, type TransferRules, transfer } from "./transfer.ts";
import { UnusableModel } from "./unusable-model.ts";

/** Progress of a download, in bytes. */
export interface DownloadProgress {
  update(done: number, total: number): void;
  end(): void;
}

export interface DownloadLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface DownloadOptions {
  /** Directory of downloads. */
  folder: string;
  hub: Hub;
  env: HttpClientOptions["env"];
  /** True: use only earlier downloads, without network access. */
  offline: boolean;
  log: DownloadLog;
  /** Called before a model is downloaded. */
  onDownload(name: string): DownloadProgress;
  /** Stops a download; the next one continues from the bytes that were received. */
  signal: AbortSignal;
  /** Maximum bytes per second; null is without limit. */
  bytesPerSecond?: number | null;
  /** Bytes of the disk that a download leaves free. */
  reserve?: number;
  rules?: TransferRules;
  timeouts?: HttpClientOptions["timeouts"];
}

/** A file of a model during its download. */
interface Incoming {
  url: string;
  name: string;
  announced: RemoteFile;
}

/** Maximum changes of the content at the server during a download. */
const MAX_CHANGES = 3;

/**
 * The path of a remote model. A valid record of an earlier download needs no network access. Otherwise the model is downloaded,
 * from where an interrupted download stopped if the server has the same content, and checked against the announced size and
 * hash. Throws OptionsError with the reason; UnusableModel if the bytes are not a model or not the announced ones.
 */
export async function downloadModel(model: RemoteModel, options: DownloadOptions): Promise<string> {
  const { folder, log } = options;
  const known = await readRecord(folder, model.uri);
  if (known !== null && isAsked(model, known)) {
    if (!known.files.every(({ checked }) => checked)) log.warn({ model: model.name, ...hashes(known) }, UNCHECKED);
    return join(folder, known.entry);
  }
  if (options.offline) {
    throw new OptionsError(`${model.uri} is not in ${folder}, and --offline on allows no download.`);
  }
  await mkdir(folder, { recursive: true });
  const web = new HttpClient(options);
  try {
    return await fetchModel(model, web, options);
  } finally {
    await web.close();
  }
}

const UNCHECKED =
  "No hash is known to check the model's file against; #sha256=… behind its address names the one it must have";

/** False if the user has specified another hash since. */
function isAsked({ sha256 }: RemoteModel, { files }: DownloadRecord): boolean {
  return sha256 === null || files.every((file) => file.checked && file.sha256 === sha256);
}

function hashes({ files }: DownloadRecord): { sha256: Record<string, string | null> } {
  return { sha256: Object.fromEntries(files.map(({ name, sha256 }) => [name, sha256])) };
}

async function fetchModel(model: RemoteModel, web: HttpClient, options: DownloadOptions): Promise<string> {
  const { hub, signal, log } = options;
  const remote = await remoteFilesOf(model, { hub, web, signal });
  for (let changes = 0; changes < MAX_CHANGES; changes++) {
    const incoming: Incoming[] = [];
    for (const { url, name } of remote.files) {
      const announced = await remoteFileOf(model, url, { hub, web, signal });
      incoming.push({ url, name, announced: withHash(model, announced) });
    }
    await checkRoom(model, incoming, remote, options);
    try {
      return await bring(model, incoming, remote, web, options);
    } catch (error) {
      if (!(error instanceof ContentChanged)) throw error;
      log.warn({ model: model.name }, "The file changed at its server while it was downloaded: beginning anew");
    }
  }
  throw new OptionsError(`The download of ${model.uri} stopped: the file keeps changing at its server.`);
}

function withHash(model: RemoteModel, announced: RemoteFile): RemoteFile {
  const { sha256 } = model;
  if (sha256 === null) return announced;
  if (announced.sha256 === null || announced.sha256 === sha256) return { ...announced, sha256 };
  throw new UnusableModel(`${model.uri} has the SHA-256 ${announced.sha256} at the hub, and ${sha256} was asked for.`);
}

/** Downloads and checks all files before it gives the first one its name. */
async function bring(
  model: RemoteModel,
  incoming: readonly Incoming[],
  { pieces }: RemoteFiles,
  web: HttpClient,
  options: DownloadOptions,
): Promise<string> {
  const { folder, log, rules = TRANSFER_RULES } = options;
  const partials: PartialFile[] = [];
  try {
    for (const { name, announced } of incoming) {
      partials.push(await PartialFile.open(join(folder, name), announced, rules.pieceBytes));
    }
    await fetchAll(model, incoming, partials, web, options);
    const files: DownloadRecord["files"] = [];
    for (const [i, { name, announced }] of incoming.entries()) {
      files.push(await checked(model, name, partials[i]!, announced));
    }
    const [first, ...others] = partials;
    if (pieces) {
      for (const other of others) {
        await first!.append(other);
        await other.close();
      }
      const size = files.reduce((sum, file) => sum + file.size, 0);
      const name = files[0]!.name.replace(/\.part\d+of\d+$/, "");
      const whole = { name, size, sha256: await first!.sha256(), checked: files.every((file) => file.checked) };
      files.splice(0, files.length, whole);
    }
    for (const [i, { name }] of files.entries()) await partials[i]!.finish(join(folder, name));
    const record = { uri: model.uri, entry: files[0]!.name, files };
    const path = await checkGgufFile(join(folder, record.entry)).catch(async (error: unknown) => {
      for (const { name } of files) await rm(join(folder, name), { force: true });
      throw error instanceof OptionsError ? new UnusableModel(error.message) : error;
    });
    for (const { name } of incoming) await removePartial(join(folder, name));
    await writeRecord(folder, record);
    const level = files.every((file) => file.checked) ? "info" : "warn";
    log[level](
      { model: model.name, ...hashes(record) },
      level === "info" ? "The model was downloaded and has the hash that it should have" : UNCHECKED,
    );
    return path;
  } catch (error) {
    for (const partial of partials) await partial.close();
    if (error instanceof UnusableModel) for (const { name } of incoming) await removePartial(join(folder, name));
    throw error;
  }
}

async function fetchAll(
  model: RemoteModel,
  incoming: readonly Incoming[],
  partials: readonly PartialFile[],
  web: HttpClient,
  { folder, log, onDownload, signal, rules = TRANSFER_RULES, bytesPerSecond = null }: DownloadOptions,
): Promise<void> {
  const total = incoming.reduce((sum, { announced }) => sum + announced.bytes, 0);
  let done = total;
  for (const partial of partials) for (const { from, to } of partial.missing) done -= to - from;
  const progress = onDownload(model.name);
  progress.update(done, total);
  const deps: TransferDeps = {
    web,
    rules,
    pace: bytesPerSecond === null ? null : new DownloadRate(bytesPerSecond),
    received: (bytes) => {
      done += bytes;
      progress.update(done, total);
    },
    failed: (reason, pauseMs) =>
      log.warn({ model: model.name, reason, pauseMs }, "A try to download failed; trying again"),
  };
  try {
    for (const [i, { url, announced }] of incoming.entries()) {
      await transfer(url, partials[i]!, announced, deps, signal);
    }
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
    throw new OptionsError(
      `The download of ${model.uri} stopped: ${error.message}. The received bytes are kept in ${folder}; the next try continues from there.`,
    );
  } finally {
    progress.end();
  }
}

/** Throws UnusableModel if the bytes are not the announced ones. */
async function checked(
  model: RemoteModel,
  name: string,
  partial: PartialFile,
  announced: RemoteFile,
): Promise<DownloadRecord["files"][number]> {
  const sha256 = await partial.sha256();
  if (announced.sha256 !== null && sha256 !== announced.sha256) {
    throw new UnusableModel(
      `The download of ${model.uri} is broken: the SHA-256 of ${name} is ${sha256}, and ${announced.sha256} was announced. ` +
        "It was deleted.",
    );
  }
  return { name, size: announced.bytes, sha256, checked: announced.sha256 !== null };
}

async function checkRoom(
  model: RemoteModel,
  incoming: readonly Incoming[],
  { pieces }: RemoteFiles,
  { folder, reserve = 0 }: DownloadOptions,
): Promise<void> {
  let needed = 0;
  for (const { name, announced } of incoming)
    needed += announced.bytes - (await bytesKept(join(folder, name), announced));
  // Joining the pieces needs the space of all but the first a second time.
  if (pieces) for (const { announced } of incoming.slice(1)) needed += announced.bytes;
  const { bavail, bsize } = await statfs(folder);
  const room = Math.max(0, bavail * bsize - reserve);
  if (needed <= room) return;
  throw new OptionsError(
    `${model.uri} needs ${gigabytes(needed)} more, and ${folder} has room for ${gigabytes(room)}. ` +
      "Make room, or name another folder with --models-dir.",
  );
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
