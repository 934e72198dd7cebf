import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError, unsupportedMedia } from "../openapi/api-error.ts";
import { JsonScan } from "../openapi/json-scan.ts";
import { checkBounds, decodeText, parseText } from "../openapi/json-text.ts";
import { checkEncoding, decoded, malformedEncoding } from "./body-encoding.ts";
import { loopTurn } from "./loop-turn.ts";

/** The client went away before its request was whole: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** What is done with larger bodies is done in slices of the event loop's time. */
const SLICED_BYTES = 256 * 1024;
const SLICE_BYTES = 1024 * 1024;

/**
 * Reads and parses a JSON body of at most `limit` bytes, unpacked. Sends 100 Continue where the client waits for it: call
 * this only after everything that can be refused without the body. Throws 413, 415, 400, or ClientGone.
 */
export async function readJson(req: IncomingMessage, res: ServerResponse, limit: number): Promise<unknown> {
  checkHeaders(req, limit);
  if (req.headers.expect?.toLowerCase() === "100-continue") {
    res.writeContinue();
    delete req.headers.expect;
  }
  const bytes = await readBytes(req, limit);
  return bytes.byteLength <= SLICED_BYTES ? parseText(decodeText(bytes)) : parseSliced(bytes);
}

/** Each step in a turn of its own, what the caller makes of the value too. */
async function parseSliced(bytes: Uint8Array): Promise<unknown> {
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const end = characterStart(bytes, start + SLICE_BYTES);
    await loopTurn();
    text += decodeText(bytes.subarray(start, end));
    start = end;
  }
  await loopTurn();
  const value = parseText(text);
  await loopTurn();
  return value;
}

/** The first byte of the character that the position lies in (UTF-8 has at most three further ones). */
function characterStart(bytes: Uint8Array, position: number): number {
  let at = position;
  while (at > position - 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return Math.min(at, bytes.length);
}

function checkHeaders(req: IncomingMessage, limit: number): void {
  checkEncoding(req);
  const [type, ...parameters] = (req.headers["content-type"] ?? "").toLowerCase().split(";");
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (type?.trim() !== "application/json" || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw unsupportedMedia(
      "unsupported_media_type",
      "The request body must be sent with Content-Type: application/json.",
    );
  }
  if (Number(req.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
}

/** Counts bytes and what they hold as they come: a chunked or packed body names no length. */
function readBytes(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = decoded(req);
    const scan = new JsonScan();
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (error: unknown) => {
      body.removeAllListeners("data");
      if (body !== req) {
        req.unpipe();
        body.destroy();
      }
      reject(error);
    };
    body.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > limit) return fail(tooLarge(limit));
      try {
        checkBounds(scan, chunk);
      } catch (error) {
        return fail(error);
      }
      chunks.push(chunk);
    });
    body.once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    const leave = () => {
      if (!req.complete) fail(new ClientGone());
    };
    req.once("error", leave);
    req.once("close", leave);
    if (body !== req) body.on("error", () => fail(malformedEncoding()));
  });
}

function tooLarge(limit: number): ApiError {
  const message = `The request body is larger than ${limit} bytes.`;
  return new ApiError({ status: 413, type: "invalid_request_error", code: "request_too_large", message });
}
