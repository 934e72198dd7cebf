import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../openapi/api-error.ts";
import { parseJson } from "../openapi/json-text.ts";

/** The client went away before its request was whole: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/**
 * Reads and parses a JSON body of at most `limit` bytes. Sends 100 Continue where the client waits for it: call this only
 * after everything that can be refused without the body. Throws 413, 415, 400, or ClientGone.
 */
export async function readJson(req: IncomingMessage, res: ServerResponse, limit: number): Promise<unknown> {
  checkHeaders(req, limit);
  if (req.headers.expect?.toLowerCase() === "100-continue") {
    res.writeContinue();
    delete req.headers.expect;
  }
  return parseJson(await readBytes(req, limit));
}

function checkHeaders(req: IncomingMessage, limit: number): void {
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw unsupported("unsupported_encoding", "Compressed request bodies are not supported.");
  }
  const [type, ...parameters] = (req.headers["content-type"] ?? "").toLowerCase().split(";");
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (type?.trim() !== "application/json" || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw unsupported("unsupported_media_type", "The request body must be sent with Content-Type: application/json.");
  }
  if (Number(req.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
}

function readBytes(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      // Counted as it comes: a chunked body names no length.
      if (size > limit) {
        req.removeAllListeners("data");
        reject(tooLarge(limit));
      } else {
        chunks.push(chunk);
      }
    });
    req.once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    const leave = () => {
      if (!req.complete) reject(new ClientGone());
    };
    req.once("error", leave);
    req.once("close", leave);
  });
}

function tooLarge(limit: number): ApiError {
  const message = `The request body is larger than ${limit} bytes.`;
  return new ApiError({ status: 413, type: "invalid_request_error", code: "request_too_large", message });
}

function unsupported(code: string, message: string): ApiError {
  return new ApiError({ status: 415, type: "invalid_request_error", code, message });
}
