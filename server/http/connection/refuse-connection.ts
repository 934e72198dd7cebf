import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError } from "../../../openapi/api-error.ts";

const REFUSALS: Record<string, ApiError> = {
  HPE_HEADER_OVERFLOW: new ApiError("headers_too_large", "The request's headers are larger than 16 KiB."),
  TOO_MANY_CONNECTIONS: new ApiError(
    "too_many_connections",
    "The server has as many open connections as it takes. Retry shortly, or reuse connections.",
  ),
  CONNECT_METHOD: new ApiError("method_not_allowed", "This server is no proxy: CONNECT is not allowed."),
  ERR_HTTP_REQUEST_TIMEOUT: new ApiError("request_timeout", "The request did not arrive in time."),
};
const MALFORMED = new ApiError("malformed_request", "The request is not valid HTTP.");

/**
 * Answers input that never became a request (invalid HTTP, too large headers, too slow) and closes the connection. Where a
 * response has begun, no answer is written: it would become part of that response.
 */
export function refuseConnection(error: { code?: string }, socket: Duplex, responseBegun: boolean): void {
  if (error.code === "ECONNRESET" || !socket.writable || responseBegun) {
    socket.destroy();
    return;
  }
  const { status, retryAfter, body } = REFUSALS[error.code ?? ""] ?? MALFORMED;
  const retry = retryAfter === undefined ? "" : `Retry-After: ${retryAfter}\r\n`;
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${retry}Connection: close\r\n\r\n${text}`,
    () => socket.destroy(),
  );
}
