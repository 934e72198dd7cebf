import type { MachinePrice } from "../../ledger/prices.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import type { Live, LiveValue } from "../../platform/live-value.ts";
import { keysAreOn, type OllamaAccess, ollamaAccess } from "./rules.ts";
import type { Options } from "./table.ts";

/** Bounds on the queue; null is without bound. */
export interface WaitBounds {
  /** Requests that may wait at one model; one more is 503. */
  queueLimit: number;
  /** Milliseconds of predicted queue wait above which a priority or default request is 503. */
  maxWaitMs: number | null;
  /** The same for a flex request, which is 429; and milliseconds that it may wait until it starts. */
  flexWaitMs: number | null;
  /** Milliseconds that a priority or default request may wait until it starts before it is 503. */
  queueTimeoutMs: number | null;
}

/** The options of the HTTP side. */
export interface AppOptions {
  /** The bound address. On loopback the Host header is checked and /metrics is open. */
  host: string;
  /** Maximum bytes of a request body; above it the answer is 413. */
  bodyLimit: number;
  /** Maximum bytes of the bodies of all unfinished requests; above it the answer is 503. */
  bodyMemory: number;
  waits: Live<WaitBounds>;
  limits: RequestLimits;
  /** Bytes that may wait for a slow reader of one stream before it is dropped. */
  streamBuffer: number;
  /** Milliseconds that a reader may leave written bytes unread before it is dropped. */
  stallMs: number;
  /** Milliseconds that a stream is silent before events without content are sent. */
  silenceMs: number;
  /** Host names without a port that are accepted beside the loopback names; if there are any, every address checks them. */
  allowedHosts: readonly string[];
  /** Origins of pages that may call the API (`https://app.example`), or `*`; none turns CORS off. */
  corsOrigins: readonly string[];
  /** Whether Ollama's API is served. */
  ollama: OllamaAccess;
  /** The bearer token of GET /metrics; null closes it on addresses other than loopback. */
  metricsToken: string | null;
  /** True if every client needs an API key. */
  apiKeys: boolean;
  /** Addresses and networks (`10.0.0.0/8`) of proxies whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
  /** True on a Unix socket: every process that may connect to it is a trusted proxy. */
  unixSocket: boolean;
  /** The price of the machine for GET /v1/nightshift/engine and the costs report. */
  machinePrice: MachinePrice;
}

export function appOptions(
  live: LiveValue<Options>,
  bounds: Pick<AppOptions, "streamBuffer" | "stallMs" | "silenceMs"> & { requests: Omit<RequestLimits, "choices"> },
): AppOptions {
  const options = live.current;
  return {
    host: options.host,
    bodyLimit: options.maxBody,
    bodyMemory: Math.max(options.maxBody, options.bodyMemory),
    waits: live.map(waitBounds),
    limits: { ...bounds.requests, choices: options.maxN },
    streamBuffer: bounds.streamBuffer,
    stallMs: bounds.stallMs,
    silenceMs: bounds.silenceMs,
    allowedHosts: options.allowedHost,
    corsOrigins: options.corsOrigin,
    ollama: ollamaAccess(options),
    metricsToken: options.metricsToken,
    apiKeys: keysAreOn(options),
    trustedProxies: options.trustedProxy,
    unixSocket: options.uds !== null,
    machinePrice: machinePrice(options),
  };
}

export function machinePrice({
  machineUsdPerHour,
  machineSpotUsdPerHour,
}: Pick<Options, "machineUsdPerHour" | "machineSpotUsdPerHour">): MachinePrice {
  return { onDemand: machineUsdPerHour, spot: machineSpotUsdPerHour };
}

function waitBounds({ queueLimit, maxWaitMs, queueTimeoutMs, flexWaitMs }: Options): WaitBounds {
  return {
    queueLimit,
    maxWaitMs: maxWaitMs === "off" ? null : maxWaitMs,
    queueTimeoutMs: queueTimeoutMs === "off" ? null : queueTimeoutMs,
    flexWaitMs: flexWaitMs === "off" ? null : flexWaitMs,
  };
}
