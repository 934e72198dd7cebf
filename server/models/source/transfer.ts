import { setTimeout as sleep } from "node:timers/promises";
import type { DownloadRate } from "./download-rate.ts";
import { type Answer, causeOf, type HttpClient, HttpFault } from "./http-client.ts";
import type { PartialFile, Piece } from "./partial-file.ts";
import { type RemoteFile, validatorOf } from "./remote-file.ts";

/** Parameters of a transfer. */
export interface TransferRules {
  /** Pieces that are fetched at the same time, because storage services limit the rate of one connection. */
  connections: number;
  pieceBytes: number;
  /** Maximum consecutive tries of one connection that each receive less than `progressBytes`. */
  tries: number;
  progressBytes: number;
  /** Milliseconds of pause after the first such try; the pause doubles. */
  firstPauseMs: number;
}

export const TRANSFER_RULES: TransferRules = {
  connections: 4,
  pieceBytes: 16 * 1024 * 1024,
  tries: 5,
  progressBytes: 1024 * 1024,
  firstPauseMs: 1000,
};

export interface TransferDeps {
  web: HttpClient;
  rules: TransferRules;
  /** Null without a rate limit. */
  pace: DownloadRate | null;
  /** Called with the bytes of each chunk. */
  received(bytes: number): void;
  /** Called after a failed try that is repeated after the pause. */
  failed(reason: string, pauseMs: number): void;
}

/** The content at the server has changed since the download began. */
export class ContentChanged extends Error {}

/**
 * Fetches the missing pieces of a file from one address, several at a time. Each try requests the missing bytes of its piece,
 * on the condition that the file is the same (If-Range). Throws ContentChanged, HttpFault after the last try of a connection,
 * an error of the disk, or the signal's reason.
 */
export async function transfer(
  url: string,
  file: PartialFile,
  announced: RemoteFile,
  deps: TransferDeps,
  signal: AbortSignal,
): Promise<void> {
  // An event that was dispatched before this does not reach the listener below.
  signal.throwIfAborted();
  const todo = file.missing;
  const stop = new AbortController();
  const abort = () => stop.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const connection = async () => {
    for (let piece = todo.shift(); piece !== undefined; piece = todo.shift()) {
      await fetchPiece(url, piece, file, announced, deps, stop.signal);
      await file.complete(piece);
    }
  };
  try {
    const connections = Array.from({ length: Math.min(deps.rules.connections, todo.length) }, connection);
    for (const each of connections) each.catch((error: unknown) => stop.abort(error));
    // The file is closed after this, so that no connection may write any more.
    await Promise.allSettled(connections);
    stop.signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function fetchPiece(
  url: string,
  piece: Piece,
  file: PartialFile,
  announced: RemoteFile,
  { web, rules, pace, received, failed }: TransferDeps,
  signal: AbortSignal,
): Promise<void> {
  let at = piece.from;
  let tries = 0;
  while (at < piece.to) {
    const begun = at;
    try {
      const { body } = await open(url, { from: at, to: piece.to }, announced, web, signal);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        if (chunk.length > piece.to - at) throw new HttpFault(`${new URL(url).host} sends more than was asked for`);
        try {
          await file.write(chunk, at);
        } catch (error) {
          body.destroy();
          throw new DiskFault(error);
        }
        at += chunk.length;
        received(chunk.length);
        if (pace !== null) await sleep(pace.pauseMs(chunk.length, performance.now()), undefined, { signal });
      }
      if (at < piece.to) throw new HttpFault("the connection was closed early");
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DiskFault) throw error.reason;
      if (error instanceof ContentChanged) throw error;
      const reason = error instanceof HttpFault ? error.message : `the connection broke (${causeOf(error)})`;
      tries = at - begun >= rules.progressBytes ? 1 : tries + 1;
      if (tries >= rules.tries) throw new HttpFault(reason);
      if (!announced.ranges) {
        received(piece.from - at);
        at = piece.from;
      }
      const pauseMs = rules.firstPauseMs * 2 ** (tries - 1);
      failed(reason, pauseMs);
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

class DiskFault extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("the disk");
    this.reason = reason;
  }
}

async function open(
  url: string,
  { from, to }: Piece,
  announced: RemoteFile,
  web: HttpClient,
  signal: AbortSignal,
): Promise<Answer> {
  const { ranges, validator, sha256, bytes } = announced;
  const headers: Record<string, string> = ranges ? { range: `bytes=${from}-${to - 1}` } : {};
  // A known hash decides, because storages behind one address may have different ETags for the same bytes.
  const condition = sha256 === null ? validator : null;
  if (ranges && condition !== null) headers["if-range"] = condition;
  const answer = await web.get(url, headers, signal);
  const fault = faultOf(answer, new URL(url).host);
  if (fault === null) return answer;
  answer.body.destroy();
  throw fault;

  function faultOf({ status, header }: Answer, host: string): Error | null {
    if (status !== 200 && status !== 206) return new HttpFault(`${host} answers with status ${status}`);
    if (condition !== null && validatorOf(answer) !== condition) return new ContentChanged();
    if (ranges && status === 200) return new ContentChanged();
    if (!ranges) return Number(header("content-length")) === bytes ? null : new ContentChanged();
    const range = header("content-range");
    if (range === `bytes ${from}-${to - 1}/${bytes}`) return null;
    return range?.endsWith(`/${bytes}`)
      ? new HttpFault(`${host} sends other bytes than were asked for`)
      : new ContentChanged();
  }
}
