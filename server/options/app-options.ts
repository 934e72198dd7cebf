import type { MachinePrice } from "../../ledger/prices.ts";
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from "../../openapi/request-limits.ts";

/** What can be set about the HTTP side; every field has a default in DEFAULT_APP_OPTIONS. */
export interface AppOptions {
  /** The address the server is bound to: decides whether the Host header is checked and /metrics is open. */
  host: string;
  /** Most bytes of a request body; more is 413. */
  bodyLimit: number;
  /** Most bytes of all request bodies whose requests have not ended; more is 503. */
  bodyMemory: number;
  /** Requests that may wait at one model; one more is 503. */
  queueLimit: number;
  /** Milliseconds that a request may be expected to wait before it is 503, or 429 at tier flex; null is without bound. */
  maxWaitMs: number | null;
  flexWaitMs: number | null;
  /** Milliseconds that a request of a better tier may wait until it starts before it is 503; null is without bound. */
  queueTimeoutMs: number | null;
  limits: RequestLimits;
  /** Bytes that may wait for a slow reader of one stream before it is dropped. */
  streamBuffer: number;
  /** Milliseconds that a reader may leave written bytes unread before it is dropped. */
  stallMs: number;
  /** Host names (no port) that are taken beside the loopback names; when not empty they are checked on any address. */
  allowedHosts: readonly string[];
  /** Origins that browsers may call from (`https://app.example`), or `*`; none turns CORS off. */
  corsOrigins: readonly string[];
  /** The bearer token of GET /metrics when the server is not bound to loopback; null closes it there. */
  metricsToken: string | null;
  /** Whether every client needs an API key. */
  apiKeys: boolean;
  /** Addresses and networks (`10.0.0.0/8`) of proxies whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  /** What GET /v1/nightshift/engine and the costs reckon with. */
  machinePrice: MachinePrice;
}

export const DEFAULT_APP_OPTIONS: AppOptions = {
  host: "127.0.0.1",
  bodyLimit: 10 * 1024 * 1024,
  bodyMemory: 128 * 1024 * 1024,
  queueLimit: 512,
  maxWaitMs: 60_000,
  flexWaitMs: 300_000,
  queueTimeoutMs: null,
  limits: DEFAULT_REQUEST_LIMITS,
  streamBuffer: 1024 * 1024,
  stallMs: 30_000,
  allowedHosts: [],
  corsOrigins: [],
  metricsToken: null,
  apiKeys: false,
  trustedProxies: [],
  machinePrice: { onDemand: null, spot: null },
};
