import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ApiError, invalidRequest } from "../../../openapi/api-error.ts";

/** Bytes that are decompressed at once, on one of libuv's threads. */
const CHUNK_BYTES = 64 * 1024;

/** Throws 415 for an unsupported encoding. */
export function checkEncoding(req: IncomingMessage): void {
  if (!["identity", "gzip", "x-gzip"].includes(encodingOf(req))) {
    throw new ApiError("unsupported_encoding", "Request bodies may have Content-Encoding gzip or none.");
  }
}

/** The decoded body. Its reader must count bytes: a few bytes of gzip may be gigabytes. */
export function decoded(req: IncomingMessage): Readable {
  if (encodingOf(req) === "identity") return req;
  return req.pipe(createGunzip({ chunkSize: CHUNK_BYTES }));
}

export function malformedEncoding(): ApiError {
  return invalidRequest("invalid_encoding", null, "The request body is not what its Content-Encoding says.");
}

function encodingOf(req: IncomingMessage): string {
  return (req.headers["content-encoding"] ?? "identity").trim().toLowerCase();
}
