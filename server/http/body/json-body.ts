import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../../../openapi/api-error.ts";
import { JsonText, parsed, SLICE_BYTES } from "../../../openapi/json/json-text.ts";
import { loopTurn } from "../../../platform/loop-turn.ts";
import { ClientGone } from "../connection/client-gone.ts";
import type { BodyHold } from "../context/body-memory.ts";
import { callerOf } from "../context/caller.ts";
import { contextOf } from "../context/request-context.ts";
import { checkEncoding, decoded, malformedEncoding } from "./body-encoding.ts";

/**
 * Reads and parses a JSON body of at most `limit` decompressed bytes, and holds memory for it until the response is over.
 * Sends 100 Continue where the client waits for it: all checks that need no body come before. Throws 413, 415, 400, 503, or
 * ClientGone. `anyType`: the content type is not checked.
 */
export async function readJson(
  req: IncomingMessage,
  res: ServerResponse,
  limit: number,
  anyType = false,
): Promise<unknown> {
  const announced = checkHeaders(req, limit, anyType);
  // A response that is over emits no further event.
  if (res.destroyed) throw new ClientGone();
  const hold = contextOf(req).bodies.open(callerOf(req).owner, announced);
  res.once("close", () => hold.end());
  if (req.headers.expect?.toLowerCase() === "100-continue") {
    res.writeContinue();
    delete req.headers.expect;
  }
  const { text, size } = await readText(req, limit, hold);
  return await parsed(text, size);
}

/** The bytes that the head announces; 0 where it names no length. */
function checkHeaders(req: IncomingMessage, limit: number, anyType: boolean): number {
  checkEncoding(req);
  if (!anyType) checkType(req);
  const length = Number(req.headers["content-length"] ?? 0);
  if (length > limit) throw tooLarge(limit);
  return length;
}

function checkType(req: IncomingMessage): void {
  const [type, ...parameters] = (req.headers["content-type"] ?? "").toLowerCase().split(";");
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (type?.trim() !== "application/json" || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw new ApiError("unsupported_media_type", "The request body must be sent with Content-Type: application/json.");
  }
}

/**
 * Decodes the body to text, and counts its bytes as they arrive, since a chunked or compressed body names no length. A fast
 * sender is paused after each slice: Node would otherwise read megabytes of every connection in one turn.
 */
function readText(req: IncomingMessage, limit: number, hold: BodyHold): Promise<{ text: JsonText; size: number }> {
  return new Promise((resolve, reject) => {
    const body = decoded(req);
    const text = new JsonText();
    let size = 0;
    let sliceEnd = SLICE_BYTES;
    let over = false;
    const fail = (error: unknown) => {
      over = true;
      body.removeAllListeners("data");
      if (body !== req) {
        req.unpipe();
        body.destroy();
      }
      reject(error);
    };
    const goOn = () => {
      if (!over) body.resume();
    };
    body.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > limit) return fail(tooLarge(limit));
      try {
        hold.add(chunk.byteLength);
        text.push(chunk);
      } catch (error) {
        return fail(error);
      }
      if (size < sliceEnd) return;
      sliceEnd = size + SLICE_BYTES;
      body.pause();
      void loopTurn().then(goOn);
    });
    body.once("end", () => {
      over = true;
      resolve({ text, size });
    });
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
  return new ApiError("request_too_large", message);
}
