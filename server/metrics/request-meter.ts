import type { Counter, Histogram } from "prom-client";
import type { Tier } from "../../engine/protocol/request.ts";
import type { InferencePath } from "../../openapi/inference-path.ts";
import { DURATION_BUCKETS, FIRST_TOKEN_BUCKETS, INTER_TOKEN_BUCKETS, QUEUE_BUCKETS } from "./histogram-buckets.ts";

/** Outcomes of a request; the only values of the label `status`. */
export const REQUEST_STATUSES = ["ok", "refused", "limited", "unavailable", "put_off", "cancelled", "error"] as const;
/**
 * | status | meaning |
 * |---|---|
 * | ok | every choice has its finish_reason |
 * | refused | a 4xx: the request itself is at fault |
 * | limited | 429: a limit or budget of its key or owner |
 * | unavailable | 503, for flex also 429: the queue wait is too long, the model is not ready, the server shuts down |
 * | put_off | the queue wait was too long and its client preferred a job, which counts at tier batch when it runs |
 * | cancelled | the client disconnected, or read too slowly |
 * | error | the engine or the server failed |
 */
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export interface RequestSeries {
  firstToken: Histogram;
  interToken: Histogram;
  perOutputToken: Histogram;
  duration: Histogram;
  queueTime: Histogram;
  promptTokens: Counter;
  generationTokens: Counter;
  cachedTokens: Counter;
  requests: Counter;
  /** Increases when the ledger row is durable, after the answer. */
  cost: Counter;
}

/** The labels of the series of requests. */
export const REQUEST_LABELS = ["model", "endpoint", "tier"];

/** Makes the series; names are without the prefix. */
export function requestSeries(
  histogram: (name: string, help: string, buckets: number[], labels: string[]) => Histogram,
  counter: (name: string, help: string, labels: string[]) => Counter,
  cost: Counter,
): RequestSeries {
  const observe = (name: string, help: string, buckets: number[]) => histogram(name, help, buckets, REQUEST_LABELS);
  const count = (name: string, help: string) => counter(name, help, REQUEST_LABELS);
  return {
    firstToken: observe(
      "time_to_first_token_seconds",
      "Time from arrival at the socket to the first content byte (not streamed: to the first token), queue wait included",
      FIRST_TOKEN_BUCKETS,
    ),
    interToken: observe(
      "inter_token_latency_seconds",
      "Time between two consecutive tokens of one sequence, one observation per token",
      INTER_TOKEN_BUCKETS,
    ),
    perOutputToken: observe(
      "time_per_output_token_seconds",
      "(last token - first token) / (tokens - 1) of one sequence",
      INTER_TOKEN_BUCKETS,
    ),
    duration: observe(
      "request_duration_seconds",
      "Time from arrival to the end of a request that finished",
      DURATION_BUCKETS,
    ),
    queueTime: observe(
      "queue_time_seconds",
      "Time from arrival to the start of the first step that computes a part of the request",
      QUEUE_BUCKETS,
    ),
    promptTokens: count("prompt_tokens_total", "Prompt tokens of accepted requests"),
    generationTokens: count("generation_tokens_total", "Generated tokens"),
    cachedTokens: count("cached_prompt_tokens_total", "Prompt tokens that were read from the prefix cache"),
    requests: counter("requests_total", "Requests by outcome", [...REQUEST_LABELS, "status"]),
    cost,
  };
}

/** All handles of one (model, endpoint, tier). Times are in milliseconds here and in seconds in the series. */
export class RequestMeter {
  readonly #firstToken: Histogram.Internal<string>;
  readonly #interToken: Histogram.Internal<string>;
  readonly #perOutputToken: Histogram.Internal<string>;
  readonly #duration: Histogram.Internal<string>;
  readonly #queueTime: Histogram.Internal<string>;
  readonly #promptTokens: Counter.Internal;
  readonly #generationTokens: Counter.Internal;
  readonly #cachedTokens: Counter.Internal;
  readonly #requests: Record<RequestStatus, Counter.Internal>;

  constructor(series: RequestSeries, model: string, endpoint: InferencePath, tier: Tier) {
    const labels = [model, endpoint, tier];
    this.#firstToken = series.firstToken.labels(...labels);
    this.#interToken = series.interToken.labels(...labels);
    this.#perOutputToken = series.perOutputToken.labels(...labels);
    this.#duration = series.duration.labels(...labels);
    this.#queueTime = series.queueTime.labels(...labels);
    this.#promptTokens = series.promptTokens.labels(...labels);
    this.#generationTokens = series.generationTokens.labels(...labels);
    this.#cachedTokens = series.cachedTokens.labels(...labels);
    // rate() sees the first increase of a series only if the series exists before it.
    series.cost.labels(...labels).inc(0);
    const byStatus = REQUEST_STATUSES.map((status) => {
      const counter = series.requests.labels(...labels, status);
      counter.inc(0);
      return [status, counter] as const;
    });
    this.#requests = Object.fromEntries(byStatus) as Record<RequestStatus, Counter.Internal>;
  }

  firstToken(ms: number): void {
    this.#firstToken.observe(ms / 1000);
  }

  /** `tokens` arrived together after `gapMs`: each counts with an equal share of the gap. */
  interToken(gapMs: number, tokens: number): void {
    const share = gapMs / tokens / 1000;
    for (let i = 0; i < tokens; i++) this.#interToken.observe(share);
  }

  perOutputToken(ms: number): void {
    this.#perOutputToken.observe(ms / 1000);
  }

  duration(ms: number): void {
    this.#duration.observe(ms / 1000);
  }

  queueTime(ms: number): void {
    this.#queueTime.observe(ms / 1000);
  }

  promptTokens(count: number): void {
    this.#promptTokens.inc(count);
  }

  generationTokens(count: number): void {
    this.#generationTokens.inc(count);
  }

  cachedTokens(count: number): void {
    this.#cachedTokens.inc(count);
  }

  ended(status: RequestStatus): void {
    this.#requests[status].inc();
  }
}

export class RequestMeters {
  readonly #series: RequestSeries;
  readonly #meters = new Map<string, RequestMeter>();

  constructor(series: RequestSeries) {
    this.#series = series;
  }

  get(model: string, endpoint: InferencePath, tier: Tier): RequestMeter {
    const key = `${model}\n${endpoint}\n${tier}`;
    let meter = this.#meters.get(key);
    if (meter === undefined) {
      meter = new RequestMeter(this.#series, model, endpoint, tier);
      this.#meters.set(key, meter);
    }
    return meter;
  }
}
