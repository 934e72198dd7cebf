import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, gzip } from "node:zlib";
import { dropWhenStalled } from "./connection/slow-reader.ts";
import { stampProcessingTime } from "./context/request-context.ts";

/** Bytes below which compression gains nothing noticeable. */
const LEAST_BYTES = 64 * 1024;

/** True for a body of this many bytes that is to be sent with gzip. Sets Vary, since the answer depends on the client. */
export function acceptsCompressed(req: IncomingMessage, res: ServerResponse, bytes: number): boolean {
  if (bytes < LEAST_BYTES || req.method === "HEAD") return false;
  res.appendHeader("vary", "accept-encoding");
  return acceptsGzip(String(req.headers["accept-encoding"] ?? ""));
}

/** True where gzip is named, or covered by `*`, with a weight above 0 (RFC 9110, 12.5.3). */
function acceptsGzip(header: string): boolean {
  const weights = new Map(
    header.split(",").map((item): [string, number] => {
      const [coding = "", ...parameters] = item.toLowerCase().split(";");
      const weight = parameters
        .map((text) => /^\s*q=([\d.]+)\s*$/.exec(text)?.[1])
        .find((value) => value !== undefined);
      return [coding.trim(), weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}

export interface CompressibleBody {
  status: number;
  body: string | Buffer;
  /** Milliseconds that the client may read nothing of it. */
  stallMs: number;
}

/** Compresses on one of libuv's threads and sends; sends the body uncompressed where that fails. */
export function sendCompressed(
  req: IncomingMessage,
  res: ServerResponse,
  { status, body, stallMs }: CompressibleBody,
): void {
  gzip(body, { level: constants.Z_BEST_SPEED }, (error, compressed) => {
    if (res.destroyed) return;
    stampProcessingTime(req, res);
    if (error === null) res.setHeader("content-encoding", "gzip");
    const sent = error === null ? compressed : body;
    res.writeHead(status, { "content-length": Buffer.byteLength(sent) });
    res.end(sent);
    dropWhenStalled(res, stallMs);
  });
}
