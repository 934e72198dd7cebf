import type { MessagePort } from "node:worker_threads";
import { Worker } from "node:worker_threads";

/** What a thread is asked to download, and with what. */
export interface DownloadOrder {
  uri: string;
  folder: string;
  endpoint: string;
  token: string | null;
}

export interface DownloadedFiles {
  /** The file to load, by name within the folder. */
  entry: string;
  files: { name: string; size: number }[];
  /** The one file was put together from several downloads. */
  spliced: boolean;
}

type ThreadMessage =
  /** The server has answered; the download begins, or goes on. */
  | { type: "opened"; done: number; total: number }
  | { type: "progress"; done: number; total: number }
  | { type: "done"; result: DownloadedFiles }
  | { type: "failed"; opened: boolean; message: string };

export class DownloadFailure extends Error {
  /** False: the server never began to send. */
  readonly opened: boolean;

  constructor(opened: boolean, message: string) {
    super(message);
    this.opened = opened;
  }
}

/** May be asynchronous; its error ends the download. */
export type Opened = (done: number, total: number) => Promise<void>;

/**
 * Downloads with node-llama-cpp in a thread of its own. That is for three reasons: ipull (3.9, below it) awaits its
 * parallel streams one by one, so that the failure of a later one is an unhandled rejection, which would end the server;
 * its streams are deaf to an abort while they wait for an answer; and the import blocks for half a second.
 * Throws a DownloadFailure, or the signal's reason.
 */
export async function downloadInThread(
  order: DownloadOrder,
  opened: Opened,
  progress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<DownloadedFiles> {
  signal.throwIfAborted();
  const library = import.meta.resolve("node-llama-cpp");
  const code = `import(${JSON.stringify(library)}).then((library) => {
    const { parentPort, workerData } = require("node:worker_threads");
    return (${work.toString()})(library, workerData, parentPort);
  })`;
  const thread = new Worker(code, { eval: true, workerData: order });
  let isOpen = false;
  const stop = () => thread.emit("error", signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await new Promise<DownloadedFiles>((resolve, reject) => {
      thread.on("error", (error) => {
        reject(signal.aborted ? signal.reason : new DownloadFailure(isOpen, error.message));
      });
      thread.on("exit", () => reject(new DownloadFailure(isOpen, "its thread ended")));
      thread.on("message", (message: ThreadMessage) => {
        switch (message.type) {
          case "opened":
            isOpen = true;
            opened(message.done, message.total).catch(reject);
            return;
          case "progress":
            progress(message.done, message.total);
            return;
          case "done":
            resolve(message.result);
            return;
          case "failed":
            reject(new DownloadFailure(message.opened, message.message));
            return;
        }
      });
    });
  } finally {
    signal.removeEventListener("abort", stop);
    await thread.terminate();
  }
}

/** Runs in the thread, from its source text: it can use nothing of this file but types. */
async function work(
  library: typeof import("node-llama-cpp"),
  order: DownloadOrder,
  port: Pick<MessagePort, "postMessage">,
): Promise<void> {
  const post = (message: ThreadMessage) => port.postMessage(message);
  let opened = false;
  try {
    const downloader = await library.createModelDownloader({
      modelUri: order.uri,
      dirPath: order.folder,
      deleteTempFileOnCancel: false,
      onProgress: ({ downloadedSize, totalSize }) => post({ type: "progress", done: downloadedSize, total: totalSize }),
      endpoints: { huggingFace: order.endpoint },
      ...(order.token === null ? {} : { tokens: { huggingFace: order.token } }),
    });
    opened = true;
    post({ type: "opened", done: downloader.downloadedSize, total: downloader.totalSize });
    await downloader.download();
    const files = downloader.filesInfo.map(({ fileName, totalSize }) => ({ name: fileName, size: totalSize }));
    const spliced = downloader.splitBinaryParts !== undefined;
    post({ type: "done", result: { entry: downloader.entrypointFilename, files, spliced } });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    post({ type: "failed", opened, message: (error instanceof Error ? error.message : String(error)) + cause });
  }
}
