import type { Duplex } from "node:stream";
import type { ErrorBody, ErrorType } from "../../../openapi/api-error.ts";

interface Refusal {
  status: string;
  type?: ErrorType;
  code: string;
  message: string;
}

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    code: "headers_too_large",
    message: "The request's headers are larger than 16 KiB.",
  },
  TOO_MANY_CONNECTIONS: {
    status: "503 Service Unavailable",
    type: "server_error",
    code: "too_many_connections",
    message: "The server has as many open connections as it takes. Retry shortly, or reuse connections.",
  },
  CONNECT_METHOD: {
    status: "405 Method Not Allowed",
    code: "method_not_allowed",
    message: "This server is no proxy: CONNECT is not allowed.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    code: "request_timeout",
    message: "The request did not arrive in time.",
  },
};
const RETRY_SECONDS = 1;
const MALFORMED: Refusal = {
  status: "400 Bad Request",
  code: "malformed_request",
  message: "The request is not valid HTTP.",
};

/**
 * Answers what never became a request (bad HTTP, too large a header, too slow) and closes the connection. Nothing is
 * written where a response has begun: it would land in the middle of that response.
 */
export function refuseConnection(error: { code?: string }, socket: Duplex, responseBegun: boolean): void {
  if (error.code === "ECONNRESET" || !socket.writable || responseBegun) {
    socket.destroy();
    return;
  }
  const { status, type = "invalid_request_error", code, message } = REFUSALS[error.code ?? ""] ?? MALFORMED;
  const body: ErrorBody = { error: { message, type, param: null, code } };
  const retry = type === "server_error" ? `Retry-After: ${RETRY_SECONDS}\r\n` : "";
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${retry}Connection: close\r\n\r\n${text}`,
    () => socket.destroy(),
  );
}
