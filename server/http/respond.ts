import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiError } from "../../openapi/api-error.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import { acceptsCompressed, type CompressibleBody, sendCompressed } from "./compression.ts";
import { endAfterBody } from "./connection/lingering.ts";
import { dropWhenStalled } from "./connection/slow-reader.ts";
import { stampProcessingTime } from "./context/request-context.ts";
import { requestErrors } from "./error-format.ts";

/** Bytes up to which Node reads and discards a body by itself, so that the connection can be used again. */
const DRAINED_BYTES = 64 * 1024;
/** Milliseconds that a client may leave a body unread. */
const STALL_MS = 30_000;
const JSON_TYPE = "application/json; charset=utf-8";

/** Sends a whole JSON body. */
export function sendJson(req: IncomingMessage, res: ServerResponse, status: number, text: string): void {
  send(req, res, { status, type: JSON_TYPE, body: text, stallMs: STALL_MS });
}

/** Sends a large JSON body with status 200. `stallMs`: milliseconds that the client may read nothing of it. */
export function sendLargeJson(req: IncomingMessage, res: ServerResponse, body: string | Buffer, stallMs: number): void {
  if (!res.destroyed) send(req, res, { status: 200, type: JSON_TYPE, body, stallMs });
}

/** Sends a value, which may be large, as one JSON body; see jsonBytes and sendLargeJson. */
export async function sendValue(req: IncomingMessage, res: ServerResponse, value: unknown, stallMs: number) {
  sendLargeJson(req, res, await jsonBytes(value), stallMs);
}

/** Sends a CSV table (RFC 4180); browsers save it instead of showing it. */
export function sendCsv(req: IncomingMessage, res: ServerResponse, text: string): void {
  res.setHeader("content-disposition", "attachment");
  send(req, res, { status: 200, type: "text/csv; charset=utf-8; header=present", body: text, stallMs: STALL_MS });
}

interface Reply extends CompressibleBody {
  type: string;
}

function send(req: IncomingMessage, res: ServerResponse, reply: Reply): void {
  const { status, type, body, stallMs } = reply;
  const length = Buffer.byteLength(body);
  res.setHeader("content-type", type);
  if (acceptsCompressed(req, res, length)) {
    sendCompressed(req, res, reply);
    return;
  }
  stampProcessingTime(req, res);
  res.writeHead(status, { "content-length": length });
  // Text goes with the head, in one write.
  res.end(req.method === "HEAD" ? undefined : body);
  dropWhenStalled(res, stallMs);
}

export function sendError(req: IncomingMessage, res: ServerResponse, error: ApiError): void {
  if (error.retryAfter !== undefined) {
    res.setHeader("retry-after", Math.ceil(error.retryAfter));
    res.setHeader("retry-after-ms", Math.ceil(error.retryAfter * 1000));
  }
  if (error.shouldRetry === false) res.setHeader("x-should-retry", "false");
  const { status, body } = requestErrors(req).written(error, String(res.getHeader("x-request-id") ?? ""));
  const text = JSON.stringify(body);
  if (hasUnreadBody(req)) sendAndLinger(req, res, status, text);
  else sendJson(req, res, status, text);
}

function hasUnreadBody(req: IncomingMessage): boolean {
  if (req.complete) return false;
  if (req.headers.expect !== undefined || req.headers["transfer-encoding"] !== undefined) return true;
  return Number(req.headers["content-length"] ?? 0) > DRAINED_BYTES;
}

/** Answers while the client still sends, and closes the connection after the rest of the body was discarded. */
function sendAndLinger(req: IncomingMessage, res: ServerResponse, status: number, text: string): void {
  stampProcessingTime(req, res);
  const length = Buffer.byteLength(text);
  res.writeHead(status, { "content-type": JSON_TYPE, "content-length": length, connection: "close" });
  // A client that waits for 100 Continue sends nothing after a refusal.
  if (req.headers.expect !== undefined) {
    res.end(text);
    return;
  }
  res.write(text);
  endAfterBody(req, res);
}
