import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, gzip } from "node:zlib";
import { dropWhenStalled } from "./connection/slow-reader.ts";
import { stampProcessingTime } from "./context/request-context.ts";

/** Smaller answers gain nothing that anybody would notice. */
const LEAST_BYTES = 64 * 1024;

/** Whether a body of so many bytes is to be sent with gzip; says in Vary that this depends on the client. */
export function wantsCompressed(req: IncomingMessage, res: ServerResponse, bytes: number): boolean {
  if (bytes < LEAST_BYTES || req.method === "HEAD") return false;
  res.appendHeader("vary", "accept-encoding");
  return acceptsGzip(String(req.headers["accept-encoding"] ?? ""));
}

/** RFC 9110, 12.5.3: named, or covered by `*`, and not with a weight of 0. */
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

/** Compresses on a thread of its own and sends; as it is where that fails. */
export function sendCompressed(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  body: string | Buffer,
  stallMs: number,
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
