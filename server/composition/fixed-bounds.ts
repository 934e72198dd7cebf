import { RESTART_POLICY } from "../../engine/restart-policy.ts";
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from "../../openapi/request-limits.ts";

/** Bounds that no option sets; all are arguments, so that tests can make them small. */
export interface FixedBounds {
  /** Milliseconds for all headers of a request to arrive; then 408. */
  headersTimeoutMs: number;
  /** Milliseconds for a request's body to arrive; then 408. Forms with files are held to a rate instead. */
  requestTimeoutMs: number;
  /** Bytes that may wait for a slow reader of one stream before the reader is dropped. */
  streamBuffer: number;
  /** Milliseconds that a reader may leave written bytes unread before it is dropped. */
  stallMs: number;
  /** Milliseconds that a stream is silent before events without content are sent: the HTML standard's advice for proxies. */
  silenceMs: number;
  /** Bounds on the content of one request; `choices` is --max-n. */
  requests: Omit<RequestLimits, "choices">;
  /** Milliseconds that batch lines in the engine may run on when their batch is cancelled or expires. */
  graceMs: number;
  /**
   * Milliseconds that the engine has to serve before suspected lines run after several deaths: by then its restart policy
   * has forgotten those.
   */
  calmMs: number;
  /** Milliseconds that webhook attempts in flight have when the server stops. */
  webhookGraceMs: number;
}

export const FIXED_BOUNDS: FixedBounds = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 120_000,
  streamBuffer: 1024 * 1024,
  stallMs: 30_000,
  silenceMs: 15_000,
  requests: DEFAULT_REQUEST_LIMITS,
  graceMs: 5000,
  calmMs: RESTART_POLICY.healthyMs + 1000,
  webhookGraceMs: 2000,
};
