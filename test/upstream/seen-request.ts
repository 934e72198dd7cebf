import type { IncomingHttpHeaders } from "node:http";
/** A request as it came, and what became of it. */
export interface SeenRequest {
  method: string;
  path: string;
  query: string;
  /** The client's port: requests of one connection have the same. */
  port: number;
  headers: IncomingHttpHeaders;
  /** Parsed, or the text where it is no JSON. */
  body: unknown;
  /** Tokens of its answer that were computed. */
  tokens: number;
  /** Resolves when the response has ended, or when the connection closed before. */
  readonly closed: Promise<"ended" | "aborted">;
}
