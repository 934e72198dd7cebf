import type { DownloadLog } from "./source/download.ts";
import { filePrefix } from "./source/download-record.ts";
import type { RemoteModel } from "./source/model-value.ts";
import type { StoredModel } from "./source/models-folder.ts";
import { type ResolveOptions, resolveModels } from "./source/resolve.ts";

/** A download into the folder of models, while the server runs. */
export interface ModelDownload {
  readonly id: string;
  readonly source: string;
  /** The default name of the model. */
  readonly name: string;
  status: "queued" | "running" | "completed" | "failed" | "cancelled";
  /** Bytes that are here, those of an earlier try included; and in all, null while unknown. */
  received: number;
  total: number | null;
  /** The path of the model, once it is completed. */
  path: string | null;
  /** The reason of a failure. */
  error: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  endedAt: number | null;
}

export interface ModelDownloadsDeps
  extends Pick<ResolveOptions, "folder" | "env" | "bytesPerSecond" | "reserve" | "rules"> {
  log: DownloadLog;
  newId: () => string;
  /** Unix seconds. */
  now: () => number;
  /** Called after each completed download. */
  completed?: () => void;
}

/** Downloads that have not ended. */
const MOST_OPEN = 16;
/** Ended downloads that are kept for their states. */
const MOST_ENDED = 64;
const LONGEST_ERROR = 1000;

interface Entry {
  download: ModelDownload;
  abort: AbortController;
  ended: Promise<void>;
}

/**
 * Downloads of models by the API: one at a time, in order of arrival. States are in memory only; the received bytes are on the
 * disk, and the next download of the same source continues from there.
 */
export class ModelDownloads {
  readonly #deps: ModelDownloadsDeps;
  readonly #entries = new Map<string, Entry>();
  #last: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: ModelDownloadsDeps) {
    this.#deps = deps;
  }

  /** The download of this source that has not ended, or a new one; null where too many have not. */
  start(model: RemoteModel): ModelDownload | null {
    const open = this.list().filter(isOpen);
    const same = open.find(({ source }) => source === model.uri);
    if (same !== undefined) return same;
    if (open.length >= MOST_OPEN || this.#stopped) return null;
    const { newId, now } = this.#deps;
    const download: ModelDownload = {
      ...{ id: newId(), source: model.uri, name: model.name, status: "queued" },
      ...{ received: 0, total: null, path: null, error: null, createdAt: now(), endedAt: null },
    };
    const abort = new AbortController();
    const ended = this.#last.then(() => this.#run(download, abort.signal));
    this.#last = ended;
    this.#entries.set(download.id, { download, abort, ended });
    return download;
  }

  /** Newest first. */
  list(): ModelDownload[] {
    return [...this.#entries.values()].map(({ download }) => download).reverse();
  }

  get(id: string): ModelDownload | null {
    return this.#entries.get(id)?.download ?? null;
  }

  /** The download that has not ended and writes the files of a model in the folder; null for none. */
  openOf({ uri, entry }: StoredModel): ModelDownload | null {
    const writes = ({ source }: ModelDownload) => source === uri || entry.startsWith(filePrefix(source));
    return this.list().find((download) => isOpen(download) && writes(download)) ?? null;
  }

  /** Cancels a download and resolves when it has ended, or forgets one that has. Null for an unknown one. */
  async remove(id: string): Promise<ModelDownload | null> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    const { download, abort, ended } = entry;
    if (!isOpen(download)) this.#entries.delete(id);
    else if (download.status === "queued") this.#end(download, "cancelled");
    abort.abort();
    if (download.status === "running") await ended;
    return download;
  }

  /** Cancels all of them, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { abort } of this.#entries.values()) abort.abort();
    await this.#last;
  }

  async #run(download: ModelDownload, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return this.#end(download, "cancelled");
    const { folder, env, bytesPerSecond, reserve, rules, log } = this.#deps;
    const { source } = download;
    download.status = "running";
    log.info({ source }, "A model is downloaded for an administrator");
    const onDownload = () => ({
      update: (done: number, total: number) => {
        download.received = done;
        download.total = total > 0 ? total : null;
      },
      end() {},
    });
    try {
      const options = { folder, env, bytesPerSecond, reserve, rules, log, signal, onDownload, offline: false };
      const [model] = await resolveModels([source], options);
      download.path = model!.path;
      this.#end(download, "completed");
      this.#deps.completed?.();
    } catch (error) {
      if (!signal.aborted) {
        download.error = (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_ERROR);
        log.warn({ source, reason: download.error }, "The download of a model failed");
      }
      this.#end(download, signal.aborted ? "cancelled" : "failed");
    }
  }

  #end(download: ModelDownload, status: ModelDownload["status"]): void {
    if (!isOpen(download)) return;
    download.status = status;
    download.endedAt = this.#deps.now();
    const ended = [...this.#entries.values()].filter((entry) => !isOpen(entry.download));
    for (const { download: old } of ended.slice(0, -MOST_ENDED)) this.#entries.delete(old.id);
  }
}

function isOpen({ status }: ModelDownload): boolean {
  return status === "queued" || status === "running";
}
